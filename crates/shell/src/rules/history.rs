//! Git: work and commits that are lost.

crate::rules::rules! { History:
    DISCARD "history.discard" Deny
        "throws away uncommitted work",
        "Commit or stash it first: `git stash push`";
        ["git reset --hard", "git checkout .", "git restore .", "git clean -fdx"]; ["git reset HEAD a.txt", "git clean -n", "git checkout -b x"];
    STASH "history.stash" Deny
        "throws away stashed work",
        "Look with `git stash list`, and use `git stash apply`";
        ["git stash drop", "git stash clear"]; ["git stash list", "git stash"];
    REWRITE "history.rewrite" Deny
        "rewrites or removes commits for good",
        "Make a new commit, for instance with `git revert`";
        ["git filter-branch --all", "git reflog expire --expire=now --all", "git gc --prune=now", "git update-ref -d refs/heads/main"]; ["git gc", "git reflog"];
    FORCE_PUSH "history.force-push" Deny
        "overwrites or removes branches of a remote",
        "Push without force, or let a person do it";
        ["git push --force", "git push origin +main", "git push origin :main", "git push --mirror"]; ["git push origin main"];
    BRANCH "history.branch" Ask
        "removes or moves a branch or tag that may not be merged",
        "Use `git branch -d`, which refuses to lose commits";
        ["git branch -D x", "git tag -d v1"]; ["git branch -d x", "git branch"];
    REORDER "history.reorder" Ask
        "rewrites commits of this branch; the reflog keeps the old ones for a while",
        "Make a new commit";
        ["git rebase main", "git commit --amend", "git reset --soft HEAD~1"]; ["git commit -m x", "git log"];
    MERGE "history.merge" Ask
        "changes the working tree in ways that may conflict",
        "Look with `git diff` first";
        ["git merge x", "git cherry-pick abc"]; ["git merge-base a b"];
    PROGRAM "history.program" Ask
        "lets git run a program that can't be told",
        "Run git without that option";
        ["git -c core.hooksPath=./h status", "git difftool"]; ["git -c color.ui=never status"];
}
