"""C libraries and WebAssembly modules: functions that run without Python and without a runtime."""
