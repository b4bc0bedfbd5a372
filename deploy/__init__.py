"""Files for running Keepwhole as a service: units, dashboards, alerts, a pooler."""
