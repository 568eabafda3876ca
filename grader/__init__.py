"""Grades untrusted submissions: find, unpack, isolate, run, compare, record, report."""
