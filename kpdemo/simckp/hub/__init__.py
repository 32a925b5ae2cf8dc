"""Keyphrase models of the Hugging Face Hub, in their own form."""
