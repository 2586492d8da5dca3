"""Every variant on a device that computes nothing: shapes, devices and waits without a GPU."""
