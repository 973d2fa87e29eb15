"""Any number of scans of one thing or several, put together."""
