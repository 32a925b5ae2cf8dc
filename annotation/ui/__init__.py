"""The pages of annotation."""
