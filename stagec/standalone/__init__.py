"""C libraries: functions that run without Python and without a runtime."""
