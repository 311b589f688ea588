//! Services: clouds, clusters, databases, forges.

crate::rules::rules! { Remote:
    CLOUD_READ "remote.cloud-read" Ask
        "asks a service with your credentials",
        "Let a person look it up";
        ["aws s3 ls", "kubectl get pods", "gh pr list"]; ["kubectl --help", "terraform fmt -check"];
    CLOUD_CHANGE "remote.cloud-change" Ask
        "changes something at a service with your credentials",
        "Prepare the change and let a person make it";
        ["kubectl apply -f x.yml", "gh pr create"]; ["kubectl --help"];
    CLOUD_DESTROY "remote.cloud-destroy" Deny
        "removes or stops something at a service; it may not come back",
        "Say what should go and let a person remove it";
        ["kubectl delete ns prod", "aws s3 rm s3://bucket --recursive", "helm uninstall prod", "terraform destroy"]; ["kubectl delete --help"];
    DATABASE "remote.database" Ask
        "runs statements on a database",
        "Let a person run them, or use a copy";
        ["psql -c 'SELECT 1'", "redis-cli GET x"]; ["psql --version"];
    DATABASE_DESTROY "remote.database-destroy" Deny
        "drops, empties or rewrites data of a database",
        "Write the statement down and let a person run it after a backup";
        ["psql -c 'DROP TABLE users'", "redis-cli FLUSHALL", "dropdb app"]; ["printf '%s' 'DROP TABLE users'"];
}
