# Installs Citus on Debian 12, from its own packages, for the tests with the tag citus.
set -e
curl -fsSo /usr/share/keyrings/citus.asc https://repos.citusdata.com/community/gpgkey
echo 'deb [signed-by=/usr/share/keyrings/citus.asc] https://repos.citusdata.com/community/debian/ bookworm main' >/etc/apt/sources.list.d/citus.list
apt-get update -q
apt-get install -qy --no-install-recommends 'postgresql-15-citus-13.2=13.2.2*'
