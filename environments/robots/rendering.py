"""Pictures of a MuJoCo world, on whatever OpenGL this machine has, created on the first look.

MuJoCo reads `MUJOCO_GL` once, while it is imported, and PyOpenGL binds one platform for the life of
the process. Here the platform is chosen later, by asking the libraries themselves (through ctypes,
so that a refusal leaves no half-bound PyOpenGL behind):

1. `MUJOCO_GL`, if the user has set it: that back end or an error;
2. EGL, if a device can be initialised (no display needed; hardware or Mesa's software renderer);
3. OSMesa (software, no display needed);
4. GLFW, if there is a display.

Cost of one 256 x 256 picture of the tabletop on 2 software-rendering cores: see
`benchmarks/tabletop.py`.
"""

from __future__ import annotations

import atexit
import ctypes
import ctypes.util
import functools
import importlib
import os
import sys
import weakref
from typing import Any, Literal

import numpy as np

from environments.env import Frame
from environments.errors import RenderError
from environments.robots._robosuite import mujoco

Quality = Literal["fast", "high", "reference"]
"""`fast`: neither shadows nor multisampling. `high`: both, for about eight times the price. `reference`: everything as
robosuite 1.4.0's own off-screen renderer draws it, reflections and sites as well, equal to it bit for bit."""

_HELP = (
    "install one of: libegl1 libegl-mesa0 libgl1-mesa-dri (EGL), libosmesa6 (OSMesa), "
    "for example `sudo apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri libgl1`"
)
_EGL_PLATFORM_DEVICE = 0x313F
_OFF = ("disable", "disabled", "off", "false", "0")


@functools.cache
def backend() -> tuple[str, str]:
    """The OpenGL back end of this process and why it was chosen.

    Returns:
        The name (`egl`, `osmesa` or `glfw`) and one sentence.

    Raises:
        RenderError: if there is none; the message lists what was tried and what to install.
    """
    wanted = os.environ.get("MUJOCO_GL", "").strip().lower()
    if wanted in _OFF:
        raise RenderError(f"MUJOCO_GL={wanted} switches rendering off; unset it, or set it to egl, osmesa or glfw")
    probes = {"egl": _probe_egl, "osmesa": _probe_osmesa, "glfw": _probe_glfw}
    if wanted in probes:
        problem = probes[wanted]()
        if problem:
            raise RenderError(f"MUJOCO_GL={wanted}, but {problem}; unset it, or {_HELP}")
        return wanted, f"MUJOCO_GL={wanted} asks for it"
    bound = os.environ.get("PYOPENGL_PLATFORM", "").strip().lower()
    refused: list[str] = []
    for name, probe in probes.items():
        problem = f"PYOPENGL_PLATFORM={bound} excludes it" if name != "glfw" and bound not in ("", name) else probe()
        if not problem:
            because = "; ".join(refused) if refused else "it works without a display"
            return name, f"{name}: {because}" if refused else because
        refused.append(f"{name}: {problem}")
    raise RenderError(f"no OpenGL to render with ({'; '.join(refused)}); {_HELP}")


def _probe_egl() -> str | None:
    """Why EGL cannot be used, or None. Initialises a device display as MuJoCo will do again later."""
    library = ctypes.util.find_library("EGL")
    if library is None:
        return "libEGL is not installed"
    egl = ctypes.CDLL(library)
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    query_at = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    display_at = egl.eglGetProcAddress(b"eglGetPlatformDisplayEXT")
    if not query_at or not display_at:
        return "libEGL has no device platform"
    query = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))(query_at)
    platform_display = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(display_at)
    devices, count = (ctypes.c_void_p * 16)(), ctypes.c_int(0)
    if not query(16, devices, ctypes.byref(count)) or not count.value:
        return "EGL finds no device (is libegl-mesa0 installed?)"
    egl.eglInitialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    for device in devices[: count.value]:
        display = platform_display(_EGL_PLATFORM_DEVICE, device, None)
        if display and egl.eglInitialize(display, None, None):
            return None
    return f"none of {count.value} EGL devices can be initialised (is libgl1-mesa-dri installed?)"


def _probe_osmesa() -> str | None:
    """Why OSMesa cannot be used, or None."""
    return None if ctypes.util.find_library("OSMesa") else "libOSMesa is not installed"


def _probe_glfw() -> str | None:
    """Why GLFW cannot be used, or None."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "there is no display"
    return None if importlib.util.find_spec("glfw") else "the glfw package is not installed"


_open: weakref.WeakSet[Camera] = weakref.WeakSet()


def _close_all() -> None:
    for camera in list(_open):
        camera.close()


class Camera:
    """Renders one world's cameras at one size; owns an OpenGL context until `close`."""

    def __init__(self, model: Any, width: int, height: int, quality: Quality = "fast", *, sites: bool = False) -> None:
        """Create the context; `sites` draws the model's sites too, as `reference` always does.

        Raises:
            RenderError: if there is no usable OpenGL.
        """
        self._context: Any = None
        self._gpu: Any = None
        name, _ = backend()
        model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
        model.vis.global_.offheight = max(height, model.vis.global_.offheight)
        model.vis.quality.offsamples = 0 if quality == "fast" else 4
        try:
            make_context = importlib.import_module(f"mujoco.{name}").GLContext
        except (ImportError, AttributeError, OSError) as error:
            # AttributeError is PyOpenGL's way to say that a library has no such function.
            raise RenderError(f"{name} cannot be loaded: {error!r}; {_HELP}") from error
        gl_error = getattr(sys.modules.get("OpenGL.error"), "Error", RuntimeError)
        try:
            self._context = make_context(width, height)
            self._context.make_current()
            self._gpu = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except (gl_error, ImportError, RuntimeError, mujoco.FatalError) as error:
            raise RenderError(f"{name} cannot create a context: {type(error).__name__}; {_HELP}") from error
        # After MuJoCo's own exit hook, so that it runs before it: that one ends the EGL display, and a
        # context that outlives its display cannot be freed.
        atexit.unregister(_close_all)
        atexit.register(_close_all)
        _open.add(self)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._gpu)
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._options = mujoco.MjvOption()
        self._options.geomgroup[0] = False  # collision shapes
        if quality != "reference":
            self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
            self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = quality == "high"
            if not sites:
                self._options.sitegroup[:] = False
        self._view = mujoco.MjvCamera()
        self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._size = (height, width)
        self._model = model

    def render(self, data: Any, camera: str) -> Frame:
        """What a camera of the model sees now, (height, width, 3) uint8, upright."""
        self._context.make_current()  # another world may have drawn last
        self._view.fixedcamid = self._model.camera(camera).id
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, data, self._options, None, self._view, everything, self._scene)
        mujoco.mjr_render(self._rect, self._scene, self._gpu)
        pixels = np.empty((*self._size, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._rect, self._gpu)
        return np.ascontiguousarray(pixels[::-1])  # OpenGL's first row is the bottom one

    def __del__(self) -> None:
        # MuJoCo frees its buffers by number in whichever context is current: left to the garbage
        # collector, a forgotten camera would delete those of another one.
        self.close()

    def close(self) -> None:
        """Free the context; safe to call twice."""
        _open.discard(self)
        if self._context is not None:
            self._context.make_current()
            if self._gpu is not None:
                self._gpu.free()
            self._context.free()
            self._context = None
