#!/bin/bash
# Proves that the README's two commands are enough: makes a bare Debian 12 in a folder, clones this repository into it and
# runs ./dev demo and ./dev test there. Needs root and the package debootstrap; takes what apt and pip are set up with on
# this machine.
#
#   tools/dev/bare-debian.sh FOLDER [COMMAND...]       example: tools/dev/bare-debian.sh /var/tmp/bare demo
#
# COMMAND are words of ./dev, by default: demo test. The folder stays; a second call goes on in it.
set -euo pipefail

if [ $# -lt 1 ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
fi
[ "$(id -u)" = 0 ] || { echo "bare-debian: needs root, for debootstrap and chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "bare-debian: apt-get install debootstrap" >&2; exit 1; }
repository=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
root=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- demo test

say() { echo "== $*"; }

# The first mirror that apt itself uses, so that no address is written down here.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | head -1)
[ -n "$mirror" ] || { echo "bare-debian: apt has no package lists; apt-get update" >&2; exit 1; }

if [ ! -e "$root/etc/debian_version" ]; then
  say "debootstrap of Debian 12 into $root"
  timeout 1800 debootstrap --variant=minbase --include=ca-certificates,git,python3 bookworm "$root" "$mirror" \
    >"$root.debootstrap.log" 2>&1 || { tail -20 "$root.debootstrap.log" >&2; exit 1; }
fi

say "configuration of apt, pip and certificates as on this machine"
rm -f "$root/etc/apt/sources.list"
for path in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/keyrings /etc/apt/trusted.gpg.d \
            /usr/share/keyrings /etc/pip.conf /etc/ssl/certs /usr/local/share/ca-certificates /etc/resolv.conf /etc/hosts; do
  [ -e "$path" ] || continue
  mkdir -p "$root$(dirname "$path")"
  cp -rL --remove-destination "$path" "$root$(dirname "$path")/" 2>/dev/null || true
done
rm -f "$root"/etc/apt/apt.conf.d/docker-clean "$root"/etc/apt/apt.conf.d/*packagekit* "$root"/etc/apt/apt.conf.d/*appstream*

mounted=()
leave() {
  for ((i = ${#mounted[@]} - 1; i >= 0; --i)); do umount "${mounted[i]}" || umount -l "${mounted[i]}" || true; done
}
trap leave EXIT
join() { # join TYPE SOURCE FOLDER [OPTION...]
  local target="$root$3"
  mkdir -p "$target"
  mount -t "$1" "${@:4}" "$2" "$target" && mounted+=("$target")
}
join proc proc /proc
join sysfs sys /sys -o ro
join tmpfs shm /dev/shm
join devpts devpts /dev/pts -o newinstance,ptmxmode=0666
ln -sf pts/ptmx "$root/dev/ptmx"
for device in null zero full random urandom tty; do
  [ -e "$root/dev/$device" ] || cp -a "/dev/$device" "$root/dev/$device"
done
for folder in ${PIP_FIND_LINKS:-}; do
  [ -d "$folder" ] && mkdir -p "$root$folder" && cp -rn "$folder/." "$root$folder/"
done

say "clone of the committed state"
if [ -d "$root/srv/mopt/.git" ]; then
  git -C "$root/srv/mopt" fetch --quiet "$repository" HEAD
  git -C "$root/srv/mopt" checkout --quiet --force FETCH_HEAD
else
  git clone --quiet --no-hardlinks "$repository" "$root/srv/mopt"
fi

passed=()
for variable in PIP_CERT PIP_FIND_LINKS PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_DEFAULT_TIMEOUT SSL_CERT_FILE SSL_CERT_DIR \
                REQUESTS_CA_BUNDLE CURL_CA_BUNDLE http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  [ -z "${!variable:-}" ] || passed+=("$variable=${!variable}")
done
for word in "$@"; do
  say "./dev $word"
  begin=$(date +%s)
  timeout 5400 chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 CI=true \
    "${passed[@]}" /bin/sh -c "cd /srv/mopt && ./dev $word"
  say "./dev $word: $(($(date +%s) - begin)) s"
done
