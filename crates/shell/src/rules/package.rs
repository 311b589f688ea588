//! Package managers and build tools: what they run was written by others.

crate::rules::rules! { Package:
    HOOKS "package.hooks" Ask
        "runs programs that packages or the project bring along",
        "Approve this exact command once, or run it in a boundary";
        ["npm install", "make", "cargo build", "uv run pytest"]; ["cargo tree --offline", "npm --version"];
    SYSTEM "package.system" Ask
        "changes what is installed on this machine",
        "Let a person install it";
        ["apt-get install jq", "brew install jq", "npm install -g x"]; ["dpkg -l"];
    REMOVED "package.removed" Deny
        "removes programs or libraries from this machine",
        "Let a person do it";
        ["apt-get purge -y bash", "pacman -Rns bash"]; ["apt list"];
    PUBLISH "package.publish" Deny
        "publishes to, or takes back from, a public registry; it can't be undone",
        "Prepare the release and let a person publish it";
        ["npm publish", "cargo publish", "twine upload dist/x.whl"]; ["cargo publish --help"];
}
