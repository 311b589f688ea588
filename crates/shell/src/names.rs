//! Names and paths that say what lies there. Each list is words, separated by blanks.

/// What a tool makes again: folders whose removal loses nothing.
pub(crate) const GENERATED: &str = "target node_modules dist build out __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox \
    .venv venv .cache .next .nuxt .turbo .parcel-cache coverage .coverage htmlcov .nyc_output \
    .gradle .eggs *.egg-info cmake-build-* .terraform .svelte-kit .angular bower_components _build \
    .dart_tool DerivedData .output .hypothesis storybook-static .vite .webpack bazel-* zig-cache \
    zig-out .zig-cache .stack-work dist-newstyle obj CMakeFiles .sass-cache .eslintcache debug \
    release tmp .tmp *.pyc *.o *.dSYM _site site-packages .ipynb_checkpoints";

/// Names of secrets that a pattern is held against.
pub(crate) const SECRET_NAMES: &str = ".ssh .aws .gnupg .kube .netrc .env .git-credentials .pgpass .password-store id_rsa id_ed25519 \
    id_ecdsa credentials .bash_history";

/// Secrets of the machine and of a home that aren't known by their name alone.
pub(crate) const MACHINE_SECRETS: &str = "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d \
    /etc/ssl/private /etc/krb5.keytab /etc/security/opasswd /proc/kcore /proc/kmem /dev/mem \
    /dev/kmem /etc/NetworkManager/system-connections /etc/wireguard /etc/kubernetes/admin.conf \
    /run/secrets /var/run/secrets /root/.ssh /var/lib/docker /etc/rancher /boot/grub/user.cfg \
    /etc/master.passwd /var/backups/shadow.bak /etc/shadow.bak";

pub(crate) const HOME_SECRETS: &str = ".bash_history .zsh_history .python_history .psql_history .mysql_history .node_repl_history \
    .mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware \
    .config/Code/User/globalStorage .npmrc .yarnrc.yml .claude.json .config/gh \
    .config/github-copilot .bitcoin .ethereum .electrum .config/solana .config/Slack \
    .config/discord .putty .vnc .config/openai .anthropic .huggingface/token \
    .cache/huggingface/token .netlify .config/netlify .config/heroku .boto .s3cfg .passwd-s3fs \
    .dockercfg .config/hcloud .config/containers/auth.json .config/azure .config/configstore \
    .local/share/fish/fish_history Library/Keychains .lesshst";
