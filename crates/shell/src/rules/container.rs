//! Containers.

crate::rules::rules! { Container:
    RUN "container.run" Ask
        "runs or changes containers",
        "Approve this exact command once";
        ["docker compose up -d", "docker run alpine ls"]; ["docker --version"];
    LOOK "container.look" Ask
        "asks the container service, which acts as the superuser",
        "Let a person look it up";
        ["docker ps"]; ["docker --help"];
    HOST "container.host" Deny
        "hands the machine to a container: its files, devices or authority",
        "Mount only the workspace, without extra authority";
        ["docker run -v /:/host alpine ls", "docker run --privileged alpine"]; ["docker --version"];
    DESTROY "container.destroy" Deny
        "removes containers, images or volumes with what they hold",
        "Name one container that this task started";
        ["docker system prune -af", "docker volume rm data", "docker rm -f db"]; ["docker --help"];
}
