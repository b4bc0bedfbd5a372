"""Inside someone's agent: one small file a framework. Each needs its framework, which the extra of that name installs."""
