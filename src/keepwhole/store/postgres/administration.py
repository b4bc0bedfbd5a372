"""What the owner of a record does: make its schema, bring it up to date, let a role write to it."""

import psycopg

from keepwhole.errors import StoreRefused
from keepwhole.store.postgres import schema
from keepwhole.store.postgres.address import address_of
from keepwhole.store.postgres.server import Server, said


def migrate(url: str, role: str | None = None) -> int:
    """Bring the schema at this address up to date; how many scripts were run.

    A `role` may then add to the record and read it, and has no right to change or delete.
    """
    address = address_of(url)
    with Server(address).connect() as connection:
        try:
            return schema.migrate(connection, address, role)
        except psycopg.Error as error:
            raise StoreRefused(
                f"The schema `{address.schema}` at `{address.shown}` could not be brought up to date ({said(error)}). "
                "Nothing was changed. Run `keepwhole store migrate` as the schema's owner."
            ) from error
