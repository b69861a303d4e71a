"""Programs where the system lacks what only POSIX or Linux has, as on Windows: taken away from Python, in a process.

What IREE, LLVM and NumPy need of their own system is imported before.
"""

import json
import os
import subprocess
import sys

_PROGRAM = """
import builtins, ctypes, io, json, mmap, os, signal, subprocess, sys, sysconfig
import iree.compiler.api, iree.compiler.ir, iree.runtime, llvmlite.binding, numpy as np

sysconfig.get_config_vars()
for name in "fcntl grp posix pwd resource syslog termios".split():
    sys.modules[name] = None
LACKED = {
    os: '''O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH copy_file_range fchmod fork forkpty getegid geteuid getgid
        getloadavg getuid killpg memfd_create mkfifo openpty pidfd_open posix_fadvise posix_fallocate pread preadv
        pwrite pwritev register_at_fork sched_getaffinity sched_setaffinity sched_yield sendfile setsid statvfs
        sysconf uname wait4''',
    signal: "SIGALRM SIGKILL SIGUSR1 alarm pthread_kill pthread_sigmask setitimer siginterrupt sigwait",
    mmap: "MAP_PRIVATE MAP_SHARED PROT_READ PROT_WRITE",
}
for module, names in LACKED.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

def opened(file, *args, of=builtins.open, **kwargs):
    if str(file).startswith(("/proc", "/sys")):
        raise FileNotFoundError(2, "No such file or directory", file)
    return of(file, *args, **kwargs)

builtins.open = io.open = opened
sys.platform = "win32"
import stagec, stagec.numpy as snp
from stagec.compiler import log

x = np.linspace(-0.1, 0.1, 600, dtype=np.float32).reshape(20, 30)
large = snp.asarray(np.ones((1024, 512), np.float32))  # which a file has mapped
layer = stagec.jit(lambda x: snp.tanh(x @ x.T).sum(0))
found = [layer(x), stagec.grad(lambda x: layer(x).sum())(x)]
found.append(stagec.lax.while_loop(lambda i: i < 10, lambda i: i + 1, 0))
found.append(stagec.jit(lambda key: stagec.random.normal(key, (3,)))(stagec.random.key(0)))
compiled = [r.message for r in log.records("compile")]
for name, function, given in (("layer", layer, x), ("large", lambda x: x @ large, x[:, :1].repeat(1024, 1))):
    stagec.export(function)(given).save(f"{name}.stagec")
    loaded = stagec.load(f"{name}.stagec")
    np.testing.assert_array_equal(loaded(given), stagec.export(function)(given).call(given))
    found.append(loaded(given))
stagec.export(layer, "cpu:x86-64-v3")(x).to_c("c", name="f")
stagec.export(layer)(x).to_wasm("wasm", name="f")
print(json.dumps([len(compiled), *(np.asarray(leaf).tolist() for leaf in found)]))
"""


def test_programs_compile_run_and_are_found_again(tmp_path):
    environment = {**os.environ, "STAGEC_CACHE_DIR": str(tmp_path / "cache")}

    def printed():
        command = [sys.executable, "-c", _PROGRAM]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    (compiled, *first), (again, *second) = printed(), printed()
    assert compiled > 0 and again == 0
    assert second == first
    assert {"f.c", "f.h"} <= {file.name for file in (tmp_path / "c").iterdir()}
