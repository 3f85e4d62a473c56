"""The dashboard as we start it: app.py and its pages behind `ui.door`.  `streamlit run scripts/studio.py`"""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ui.door import Door  # noqa: E402

app = st.App(ROOT / "app.py", middleware=[Middleware(Door)])
