"""Infilling examples cut at character level from documents, tokenised in pieces as a user's text is."""
