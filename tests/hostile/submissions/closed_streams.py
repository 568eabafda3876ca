# Right answers after standard output and error are gone, in Python and in the kernel.
import os
import sys

os.close(1)
os.close(2)
sys.stdout = sys.stderr = sys.__stdout__ = None
