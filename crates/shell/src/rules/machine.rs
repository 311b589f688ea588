//! The state of the machine.

crate::rules::rules! { Machine:
    POWER "machine.power" Ask
        "shuts down, restarts or suspends the machine",
        "Let a person do it";
        ["shutdown -h now", "reboot"]; ["echo \"sudo reboot\""];
    SIGNAL "machine.signal" Ask
        "ends or signals processes",
        "End only processes that this task started, by their id";
        ["kill 1234", "pkill node"]; ["kill -l", "ps aux"];
    SIGNAL_ALL "machine.signal-all" Deny
        "ends every process of the user, or the first one",
        "End only processes that this task started, by their id";
        ["kill -9 -1", "killall5", "kill -9 1"]; ["kill -l"];
    SETTINGS "machine.settings" Ask
        "changes settings of the machine or the session",
        "Let a person do it";
        ["timedatectl set-timezone UTC", "hostname evil"]; ["hostname", "date"];
}
