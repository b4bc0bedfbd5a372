# Starts PostgreSQL as `db.example`, as it is in a team: TLS with a certificate that the visitor knows, and passwords.
rm -rf /team
mkdir /team
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=db.example -addext subjectAltName=DNS:db.example \
  -keyout /team/server.key -out /team/server.crt
printf '%s' "$PASSWORD" > /team/password
chmod 600 /team/server.key /team/password
chown -R postgres /team
bin=$(echo /usr/lib/postgresql/*/bin)
as() { runuser -u postgres -- "$@"; }
as "$bin/initdb" -D /team/data -U owner --pwfile=/team/password --auth=scram-sha-256 --no-sync --locale=C --encoding=UTF8
echo "hostssl all all 127.0.0.1/32 scram-sha-256" > /team/data/pg_hba.conf
echo "local all all trust" >> /team/data/pg_hba.conf
as "$bin/pg_ctl" -D /team/data -w -l /team/log start -o "-c listen_addresses=127.0.0.1 -c unix_socket_directories=/team \
  -c ssl=on -c ssl_cert_file=/team/server.crt -c ssl_key_file=/team/server.key"
psql -h /team -U owner postgres -c "create role agents login password '$PASSWORD'"
psql -h /team -U owner postgres -c "create database team"
mkdir -p "$HOME/.postgresql"
cp /team/server.crt "$HOME/.postgresql/root.crt"
chown -R 1000:1000 "$HOME/.postgresql"
grep -q db.example /etc/hosts || echo "127.0.0.1 db.example localhost" >> /etc/hosts
