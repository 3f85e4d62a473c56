"""What several pages share with Streamlit."""
