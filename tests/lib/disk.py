# SPDX-License-Identifier: Apache-2.0
"""File systems of a test's own: to be filled, to fail, and to lose their power. They need to be mounted."""
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile

EXT4_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


class Disk:
    """A tmpfs, or an ext4 in a file, while in use; None as the path if it cannot be mounted."""

    def __init__(self, kind, size):
        self.kind, self.size = kind, size
        self.image, self.mounted = None, False

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="tensord-disk-")
        if self.kind == "ext4":
            if shutil.which("mkfs.ext4") is None or shutil.which("mount") is None:
                return None
            self.image = self.path + ".image"
            with open(self.image, "wb") as f:
                f.truncate(self.size)
            subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", self.image], check=True)
        return self.path if self.mount() else None

    def mount(self):
        what = ["-o", "loop", self.image] if self.kind == "ext4" else ["-t", "tmpfs", "-o", "size=%d" % self.size, "tmpfs"]
        self.mounted = subprocess.run(["mount", *what, self.path], capture_output=True).returncode == 0
        return self.mounted

    def stop_writing(self):
        """From now on an ext4 is only read, as it decides by itself when its journal cannot be written."""
        subprocess.run(["mount", "-o", "remount,abort", self.path], check=True, capture_output=True)

    def fail(self):
        """From now on an ext4 gives EIO for whatever it is asked, and what it has not written is lost."""
        fd = os.open(self.path, os.O_RDONLY)
        fcntl.ioctl(fd, EXT4_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        os.close(fd)

    def mount_again(self):
        """After it failed: its journal is replayed. Nobody may have a file of it open. Whether it is mounted."""
        subprocess.run(["umount", self.path], check=True)
        return self.mount()

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", self.path], check=True)
        os.rmdir(self.path)
        if self.image is not None:
            os.remove(self.image)
