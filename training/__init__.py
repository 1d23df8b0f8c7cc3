"""How the model inside calipers is made: corpus, examples, training, quantisation, card. Never installed."""
