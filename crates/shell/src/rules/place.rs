//! Paths outside the workspace.

crate::rules::rules! { Place:
    WRITE_OUTSIDE "place.write-outside" Deny
        "writes outside the workspace",
        "Write below the workspace";
        ["echo x > /etc/passwd", "cp a /usr/local/bin/a", "tar xf a.tar -C /"]; ["cp a b", "echo \"a > /etc/x\""];
    WRITE_TEMP "place.write-temp" Ask
        "writes to scratch space outside the workspace",
        "Use a folder of the workspace that git ignores";
        ["date > /tmp/x"]; ["date > out.txt"];
    WRITE_UNKNOWN "place.write-unknown" Ask
        "writes somewhere that can't be told from the line",
        "Write the path out";
        ["echo x > \"$OUT\""]; ["O=out; echo x > $O"];
    READ_OUTSIDE "place.read-outside" Ask
        "reads outside the workspace",
        "Read what lies in the workspace";
        ["cat /etc/passwd", "ls .."]; ["cat README.md", "ls"];
    READ_UNKNOWN "place.read-unknown" Ask
        "reads something that can't be told from the line",
        "Write the path out";
        ["cat \"$FILE\""]; ["F=a.txt; cat $F"];
    LINK_OUTSIDE "place.link-outside" Ask
        "makes a link that leads outside the workspace",
        "Copy the file, or link below the workspace";
        ["ln -s /etc e"]; ["ln -s a b"];
}
