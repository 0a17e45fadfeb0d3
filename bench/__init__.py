"""Measurements that anybody can start; none of them is a test."""
