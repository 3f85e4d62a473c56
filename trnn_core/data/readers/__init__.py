"""Files in, RelationalSeries out; one file per format."""
