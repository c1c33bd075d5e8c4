# Creates the service's role and database in a new volume; see compose.yaml. The role is no superuser:
# those run programs in this container (COPY … FROM PROGRAM). Their own role keeps no password, so
# nobody logs in as it from elsewhere.
psql -X -v ON_ERROR_STOP=1 << 'EOF'
\getenv password POSTGRES_PASSWORD
CREATE ROLE petstore LOGIN PASSWORD :'password';
CREATE DATABASE pets OWNER petstore;
ALTER ROLE postgres PASSWORD NULL;
EOF
