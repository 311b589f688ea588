//! Variables that decide what other programs run.

use super::lists;
use crate::effect::Role;
use crate::machine::{Machine, State};
use crate::rules;
use crate::value::Field;
use crate::word::How;

/// Variables whose value some program runs as a command.
const COMMANDS: &str = "PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH \
    GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND PROMPT_COMMAND \
    LESSOPEN LESSCLOSE BROWSER RSYNC_RSH CVS_RSH SVN_SSH FCEDIT KUBE_EDITOR PSQL_PAGER BAT_PAGER \
    DELTA_PAGER AWS_PAGER GH_PAGER SYSTEMD_PAGER SYSTEMD_EDITOR HGEDITOR RUSTC_WRAPPER \
    CARGO_BUILD_RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER SHELL MAKE_SHELL PSQL_EDITOR CC CXX LD \
    TEXEDIT MANROFFOPT GH_EDITOR GH_BROWSER RUSTC RUSTFMT RUSTDOC CARGO_BUILD_RUSTC CARGO_BUILD_RUSTDOC \
    CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER";

/// Variables that are expanded as a prompt is.
const PROMPTS: &[&str] = &["PS0", "PS1", "PS2", "PS4"];

/// Variables that make programs load code, or read configuration that runs code.
const LOADERS: &str = "BASH_ENV ENV ZDOTDIR LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES \
    DYLD_LIBRARY_PATH NODE_OPTIONS NODE_PATH PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONBREAKPOINT \
    PERL5LIB PERL5OPT PERL5DB RUBYOPT RUBYLIB GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM \
    GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE \
    GCONV_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH INPUTRC VIMINIT EXINIT VIMRUNTIME \
    RUSTFLAGS MAKEFLAGS TAR_OPTIONS XDG_CONFIG_HOME HOME GNUPGHOME KUBECONFIG DOCKER_HOST BASHOPTS \
    SHELLOPTS HISTFILE npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL EMACSLOADPATH LUA_INIT \
    RIPGREP_CONFIG_PATH LESS LESSKEY LESSKEYIN ACKRC ACK_OPTIONS FZF_DEFAULT_COMMAND \
    FZF_DEFAULT_OPTS MANOPT GREP_OPTIONS AWKPATH AWKLIBPATH http_proxy https_proxy \
    ftp_proxy all_proxy rsync_proxy GOFLAGS GOENV BAT_CONFIG_PATH \
    PYTHONUSERBASE PYTHONPLATLIBDIR PYTHONINSPECT PYTHONWARNINGS PHPRC PHP_INI_SCAN_DIR OPENSSL_CONF \
    OPENSSL_MODULES OPENSSL_ENGINES NODE_REPL_EXTERNAL_MODULE JDK_JAVA_OPTIONS GEM_HOME GEM_PATH RBENV_ROOT \
    PYENV_ROOT JRUBY_OPTS GIT_ALLOW_PROTOCOL CDPATH ZIPOPT UNZIP UNZIPOPT HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY RSYNC_PROXY";

/// Variables that name a file or a folder which some program writes.
const WRITTEN: &str = "TMPDIR SSLKEYLOGFILE LLVM_PROFILE_FILE MALLOC_TRACE LD_DEBUG_OUTPUT LD_PROFILE_OUTPUT \
    NODE_V8_COVERAGE NODE_REDIRECT_WARNINGS NODE_COMPILE_CACHE LESSHISTFILE PYTHONPYCACHEPREFIX GCOV_PREFIX \
    COVERAGE_FILE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY LESSHISTFILE SQLITE_HISTORY \
    NODE_REPL_HISTORY PSQL_HISTORY MYSQL_HISTFILE REDISCLI_HISTFILE CARGO_TARGET_DIR CARGO_HOME \
    XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME GOCACHE GOMODCACHE GOPATH GOBIN PIP_TARGET \
    npm_config_prefix npm_config_cache";

/// Whether a variable decides what other programs run or write.
pub(crate) fn is_heeded(name: &str) -> bool {
    name == "PATH"
        || PROMPTS.contains(&name)
        || [COMMANDS, LOADERS, WRITTEN]
            .iter()
            .any(|names| lists(names, name))
        || name.starts_with("GIT_CONFIG_VALUE_")
        || name.starts_with("GIT_TRACE")
}

/// Notes what it means that a variable is set.
pub(crate) fn environment(machine: &mut Machine<'_>, name: &str, value: &Field, state: &mut State) {
    if lists(COMMANDS, name) || name.starts_with("GIT_CONFIG_VALUE_") {
        let text = value.known().map(|text| text.into_owned());
        match text {
            Some(text) if text.is_empty() => {}
            Some(text) => {
                let text = text.trim_start_matches('|').replace("%s", "file");
                let mut inside = state.clone();
                machine.inner(&text, &mut inside);
            }
            None => machine.code_word(value, &mut state.clone()),
        }
    } else if PROMPTS.contains(&name) {
        if let Some(text) = value.known() {
            let text = text.into_owned();
            machine.value(&text, state, How::Quoted);
        }
    } else if name == "PATH" {
        if !is_plain_path(value) {
            state.search_changed = true;
            machine.act(&rules::persistence::ENVIRONMENT);
        }
    } else if lists(WRITTEN, name) || name.starts_with("GIT_TRACE") {
        // Of traces a number is a descriptor, and a word like `true` the error output.
        let is_path = value
            .known()
            .is_none_or(|text| text.contains('/') || lists(WRITTEN, name) && !text.is_empty());
        if is_path {
            machine.path(Role::Write, value, state);
        }
    } else if lists(LOADERS, name)
        && !(name == "LESS" && value.known().is_some_and(|text| !text.contains('+')))
        // Only a category with a dot in its name is looked for in a module.
        && !(name == "PYTHONWARNINGS" && value.known().is_some_and(|text| !text.contains('.')))
    {
        if value.known().is_none_or(|text| !text.is_empty()) {
            machine.act(&rules::persistence::ENVIRONMENT);
            if name.to_lowercase().ends_with("_proxy") {
                machine.network(super::net::host(value));
            }
        }
        if let Some(text) = value.known() {
            let text = text.trim_start_matches([':', '!']).to_owned();
            machine.suspect(&text, state);
        }
    }
}

/// Whether programs are only looked for where the machine keeps them.
fn is_plain_path(value: &Field) -> bool {
    let text = value.shown();
    text.split(':').all(|folder| {
        folder == "…"
            || [
                "/bin",
                "/sbin",
                "/usr/bin",
                "/usr/sbin",
                "/usr/local/bin",
                "/usr/local/sbin",
                "/opt/homebrew/bin",
                "/usr/local/go/bin",
                "/snap/bin",
            ]
            .contains(&folder)
            || folder.ends_with("/.cargo/bin")
            || folder.ends_with("/.local/bin")
            || folder.ends_with("/go/bin")
    })
}
