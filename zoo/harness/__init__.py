"""From a request to records: plan, trials and probes in worker processes."""
