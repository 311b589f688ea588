# Runs git without any program, helper or network that a repository's configuration could name.
# $1 is git's file, $2 the workspace, the rest a subcommand and its arguments.
git=$1 workspace=$2
shift 2
LC_ALL=C
export LC_ALL

neutral() {
	"$git" --no-pager --no-optional-locks \
		-c safe.directory="$workspace" -c safe.bareRepository=explicit \
		-c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.untrackedCache=false \
		-c core.pager=cat -c core.editor=false -c core.askPass=false -c core.sshCommand=false \
		-c core.alternateRefsCommand=false -c core.gitProxy=false -c credential.helper= \
		-c core.attributesFile=/dev/null -c core.quotePath=false \
		-c gpg.program=false -c gpg.openpgp.program=false -c gpg.x509.program=false \
		-c gpg.ssh.program=false -c log.showSignature=false \
		-c submodule.recurse=false -c status.submoduleSummary=false -c diff.submodule=short \
		-c diff.autoRefreshIndex=false -c blame.ignoreRevsFile= \
		-c protocol.allow=never -c gc.auto=0 -c maintenance.auto=false -c color.ui=false \
		"$@"
}

# Filters are named by the repository, so each setting of each filter is emptied by its own name. No
# option covers names that aren't known, and `.git/info/attributes` can't be left out.
settings=$(neutral config --includes --name-only --get-regexp '^filter\.')
status=$?
if [ "$status" -gt 1 ]; then
	exit "$status"
fi
set -f
IFS='
'
for setting in $settings; do
	case $setting in
	*=*)
		echo "fatal: a filter of this repository has a name that can't be switched off" >&2
		exit 128
		;;
	esac
	set -- -c "$setting=" "$@"
done
unset IFS
neutral "$@"
