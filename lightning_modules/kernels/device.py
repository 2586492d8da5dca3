"""What a training asks its device: to finish, how much memory is used, which attention to run."""

import torch


def runs_ahead(device: torch.device) -> bool:
    """Return whether the processor goes on while the device computes, as with a GPU."""
    return device.type != "cpu"


def wait_for(device: torch.device) -> None:
    """Wait until a GPU has done all that it was given; a CPU has done so already."""
    if runs_ahead(device):
        torch.accelerator.synchronize(device)


def peak_device_memory_mib(device: torch.device) -> float | None:
    """Return the largest memory of tensors on a GPU so far, in MiB.

    None for a CPU, and for a device that does not tell, such as the GPU of a Mac.
    """
    if not runs_ahead(device):
        return None
    try:
        return torch.accelerator.max_memory_allocated(device) / 2**20
    except RuntimeError:
        return None


def keep_attention_off_cudnn() -> None:
    """Let torch choose among its other fused kernels of attention on a GPU, in the whole process.

    CuDNN plans its kernel anew for each shape, and batches differ in shape: on an H100, a call of
    the forward or of the backward pass took 13 ms of the processor.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)
