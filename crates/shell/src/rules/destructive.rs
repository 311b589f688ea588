//! Acts that lose something for good.

crate::rules::rules! { Destructive:
    OUTSIDE "destructive.outside" Deny
        "removes something outside the workspace",
        "Remove only what lies in the workspace, by its own path";
        ["rm -rf /", "rm -rf ~/old", "rm ../x"]; ["rm -f a.tmp", "echo 'rm -rf /'"];
    WORKSPACE "destructive.workspace" Deny
        "removes the whole workspace",
        "Name the folder or the files that are to go";
        ["rm -rf .", "rm -rf *", "find . -delete"]; ["rm -rf target", "rm -f *.tmp"];
    REPOSITORY "destructive.repository" Deny
        "removes the history of a repository; nothing brings it back",
        "Leave `.git` alone; use git to undo commits";
        ["rm -rf .git", "rm -r .git/objects"]; ["ls .git", "rm -rf .github/old.yml.tmp"];
    TREE "destructive.tree" Ask
        "removes a tree of the workspace that may hold uncommitted work",
        "Use `git rm -r`, or name single files";
        ["rm -rf src", "rm -r lib"]; ["rm -rf node_modules", "rm src/a.rs"];
    UNKNOWN_TARGET "destructive.unknown-target" Ask
        "removes something that can't be told from the line",
        "Write the path out";
        ["rm -rf \"$DIR\"", "cat list | xargs rm"]; ["D=target; rm -rf $D"];
    GIT_INTERNAL "destructive.git-internal" Ask
        "changes git's own files by hand",
        "Use a git command";
        ["rm .git/index.lock"]; ["git add -A"];
    DEVICE "destructive.device" Deny
        "writes to a device past its file system",
        "Write to a file in the workspace";
        ["dd if=/dev/zero of=/dev/sda", "cat x > /dev/sda"]; ["echo x > /dev/null"];
    FILESYSTEM "destructive.filesystem" Deny
        "makes or wipes a file system or a partition table",
        "Use an image file in the workspace, and ask a person";
        ["mkfs.ext4 /dev/sdb1", "wipefs -a /dev/sda"]; ["ls mkfs.md", "lsblk"];
    FORK_BOMB "destructive.fork-bomb" Deny
        "starts copies of itself until the machine stands still",
        "Start a known number of processes";
        [":(){ :|:& };:"]; ["f() { echo x | cat; }; f"];
    BULK "destructive.bulk" Ask
        "removes or overwrites many files that aren't named",
        "List them first, then name them";
        ["find . -mtime +9 -delete", "find . -type f | xargs sed -i s/a/b/"]; ["find . -name '*.pyc' -delete", "grep -rl a src | xargs sed -i s/a/b/"];
    ATTRIBUTES "destructive.attributes" Deny
        "changes modes or owners outside the workspace",
        "Change only files of the workspace";
        ["chmod -R 777 /", "chown root /etc"]; ["chmod +x run.sh"];
    ATTRIBUTES_TREE "destructive.attributes-tree" Ask
        "changes modes or owners of the whole workspace, or opens files to everybody",
        "Name the files, and give no more than they need";
        ["chmod -R 777 .", "chown -R root src"]; ["chmod 644 a.txt"];
    EMPTIED "destructive.emptied" Ask
        "empties or overwrites files of the workspace with nothing to bring them back",
        "Use the editing tool, or git";
        ["shred -u src/a.rs"]; ["truncate -s 0 log.txt"];
}
