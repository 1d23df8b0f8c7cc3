"""The server editors and the OpenAI client already speak to: `calipers serve`.

engine     one thread owns the model; requests under way share its forwards
service    what a request wants (an order), from text to answer, with a cache
app        the routes put together; infill, openai, fill, misc: a family of routes each
guard      what every request must pass: host, key, size, time
run        the listening socket, and an end that drops nobody
"""
