"""Systems scored against gold grades: baselines, calibration, report."""
