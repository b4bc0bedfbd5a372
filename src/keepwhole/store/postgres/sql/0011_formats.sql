-- Which version of Keepwhole reads each version of the schema. An older one that is refused names it.
ALTER TABLE migrations ADD COLUMN needs text;
