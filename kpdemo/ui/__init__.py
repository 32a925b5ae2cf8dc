"""The pages of the demo, in Gradio."""
