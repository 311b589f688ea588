# Clones a repository into an empty folder, without any program, helper or network that its
# configuration could name. $1 is the repository's top folder, $2 the empty folder, $3 where the clone
# will see the objects that it borrows. Exit 3: there is no commit to check out.
umask 022
# Whoever owns the parts of the repository: what is read of it is read in here.
printf '[safe]\n\tdirectory = *\n' >"$GIT_CONFIG_GLOBAL" || exit 1
git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.attributesFile=/dev/null \
	-c core.alternateRefsCommand=false -c submodule.recurse=false -c advice.detachedHead=false \
	-c protocol.allow=never -c protocol.file.allow=always -c gc.auto=0 -c maintenance.auto=false \
	clone --quiet --shared --no-hardlinks --no-recurse-submodules --template= -- "$1" "$2" || exit 1
git -C "$2" rev-parse --quiet --verify 'HEAD^{commit}' >/dev/null || exit 3
mkdir "$2/$3" && printf '../%s\n' "${3##*/}" >"$2/.git/objects/info/alternates"
