"""From a pinned list of packages to clean text: fetch, filter, tell twins apart, keep evaluation out, cut in shards."""
