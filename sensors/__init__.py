"""Sensors, jobs and schedules: they call the planner and hand on what it says."""
