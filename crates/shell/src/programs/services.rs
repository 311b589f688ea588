//! Command lines of services: clouds, clusters, forges. A verb among the words says what it comes to.

use super::{Handler, lists};
use crate::effect::Role;
use crate::machine::{Call, Machine, State};
use crate::place::Place;
use crate::rules;
use crate::value::{Field, Out, Taint};

/// Programs that act at a service with somebody's credentials.
const SERVICES: &str = "aws gcloud gsutil az kubectl oc helm helmfile terraform tofu terragrunt pulumi doctl heroku \
    fly flyctl vercel netlify wrangler gh glab firebase eksctl s3cmd mc rclone vault consul nomad \
    ansible ansible-playbook cdk serverless sls sam supabase railway stripe hcloud linode-cli oci \
    ibmcloud aliyun eb bq kustomize argocd flux istioctl minikube kind k3d k3s packer vagrant \
    virsh velero kops kubeadm s5cmd azcopy gcsfuse cf render k9s turso neonctl pscale planetscale \
    atlas sentry-cli datadog-ci op bw pass lpass chef knife salt puppet juju openstack nova \
    proxmox govc scw exo vultr-cli auth0 okta confluent rpk temporal kafka-topics kafka-topics.sh \
    rabbitmqctl rabbitmqadmin nats zfs zpool lvremove vgremove pvremove";

/// Verbs, or their beginnings, that remove or stop something.
const DESTROYS: &str = "delete destroy terminate remove rm rb purge drop uninstall prune wipe nuke drain undeploy \
    deprovision rmdir deregister disable revoke truncate evict decommission unprovision deletefile \
    release-address detach archive undefine shutdown stop halt force-delete delete-all down reset \
    erase flush teardown cancel pg:reset apps:destroy repo-delete del mb-rm batch-delete \
    bulk-delete schedule-key-deletion cordon rollback empty lvremove expire suspend abandon taint \
    untrack put-bucket-policy projects:delete force-unlock state-rm unset-all destroy-all \
    firestore:delete hosting:disable sync-delete cleanup invalidate-all replace-all delete-project";

/// Verbs that only look.
const READS: &str = "get list ls describe show logs status top info view diff explain cat head search whoami auth \
    history events watch version api-resources cluster-info config read tail inspect check";

/// Calls that touch nothing but the workspace: program, then its first words.
const LOCAL: &[(&str, &[&str])] = &[
    (
        "terraform",
        &["fmt", "version", "validate", "-version", "-help", "graph"],
    ),
    ("tofu", &["fmt", "version", "validate", "-version"]),
    ("helm", &["version", "lint", "template", "create"]),
    (
        "kubectl",
        &[
            "version --client",
            "kustomize",
            "completion",
            "options",
            "explain --help",
            "config view",
            "config current-context",
            "config get-contexts",
        ],
    ),
    ("kustomize", &["build", "version"]),
    ("gh", &["version", "completion", "help"]),
    ("aws", &["help", "configure list"]),
    ("gcloud", &["version", "info", "help", "config list"]),
    ("pulumi", &["version"]),
    ("packer", &["fmt", "version", "validate"]),
    ("docker", &["version"]),
    ("ansible-playbook", &["--syntax-check"]),
    ("minikube", &["version"]),
    ("kind", &["version"]),
    ("heroku", &["version"]),
    ("rclone", &["version"]),
    ("vault", &["version"]),
];

/// Calls that print a credential.
const PRINTS: &[&str] = &[
    "auth token",
    "auth print-access-token",
    "auth print-identity-token",
    "auth application-default",
    "get secret",
    "secretsmanager get-secret-value",
    "ssm get-parameter",
    "configure get",
    "sts get-session-token",
    "sts assume-role",
    "config view --raw",
    "kv get",
    "account get-access-token",
    "config:get",
    "auth status -t",
    "auth status --show-token",
    "keyvault secret show",
    "secrets versions access",
    "configure export-credentials",
    "ecr get-login-password",
    "config show",
    "get secrets",
    "env ls",
    "env pull",
    "item get",
    "kv read",
    "read secret",
    "eks get-token",
    "iam create-access-key",
    "storage account keys",
];

pub(super) fn handler(name: &str) -> Option<Handler> {
    lists(SERVICES, name).then_some(service as Handler)
}

fn service(machine: &mut Machine<'_>, call: &Call<'_>, state: &mut State) -> Out {
    machine.ran(call.name);
    let words: Vec<String> = call.args.iter().map(Field::shown).collect();
    let line = words.join(" ");
    let sends = ["gist", "cp", "upload", "put", "release", "copy", "push"]
        .iter()
        .any(|verb| words.iter().any(|word| word == verb));
    for arg in call.args.iter().filter(|_| sends) {
        if matches!(
            machine.target(arg, state).place,
            Place::Secret | Place::SecretInside
        ) {
            machine.act(&rules::secret::UPLOAD);
        }
    }
    if LOCAL.iter().any(|(name, starts)| {
        *name == call.name
            && starts
                .iter()
                .any(|start| line == *start || line.starts_with(&format!("{start} ")))
    }) {
        for arg in call
            .args
            .iter()
            .skip(1)
            .filter(|arg| !arg.prefix().starts_with('-'))
        {
            machine.path(Role::Write, arg, state);
        }
        return Out::Unknown(Taint::NONE);
    }
    let plain: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    // Verbs stand among the first words: what comes later are names.
    let deep = match call.name {
        "aws" | "gcloud" | "az" | "doctl" | "oci" | "ibmcloud" | "aliyun" | "openstack" => 5,
        _ => 3,
    };
    let head: Vec<&str> = plain.iter().copied().take(deep).collect();
    let dry = words.iter().any(|word| {
        word == "--help"
            || word.starts_with("--dry-run")
            || word == "--dryrun"
            || word == "-dry-run"
            || word == "--dry_run"
    });
    let destroys = !dry
        && (head.iter().any(|word| is_destroying(word)) || flags_destroy(call.name, &words, &line));
    let rule = if PRINTS.iter().any(|start| line.contains(start))
        || matches!(call.name, "pass" | "op" | "bw" | "lpass") && !destroys
    {
        if matches!(call.name, "pass" | "op" | "bw" | "lpass" | "vault") {
            &rules::secret::STORE
        } else {
            &rules::secret::PRINTED
        }
    } else if destroys {
        &rules::remote::CLOUD_DESTROY
    } else if head.iter().any(|word| {
        READS.split(' ').any(|verb| {
            word.strip_prefix(verb)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    }) {
        &rules::remote::CLOUD_READ
    } else {
        &rules::remote::CLOUD_CHANGE
    };
    machine.act(rule);
    paths(machine, call, &line, state);
    // `kubectl exec pod -- rm -rf /data`, `gh api -X DELETE`, `ansible all -a 'rm -rf /'`.
    for text in &words {
        if text.contains(' ') {
            machine.suspect(text, state);
        }
    }
    super::suspect_tail(machine, call.args, state);
    Out::Unknown(match rule.class {
        rules::Class::Secret => Taint::REMOTE.with(Taint::SECRET),
        _ => Taint::REMOTE,
    })
}

fn is_destroying(word: &str) -> bool {
    let word = word.to_lowercase().replace('_', "-");
    let last = word.rsplit(':').next().unwrap_or_default();
    DESTROYS.split(' ').any(|verb| {
        word == verb
            || last == verb
            || last
                .strip_prefix(verb)
                .is_some_and(|rest| rest.starts_with('-'))
            || last
                .strip_suffix(verb)
                .is_some_and(|rest| rest.ends_with('-') && verb.len() > 4)
    })
}

/// Flags and whole forms that destroy.
fn flags_destroy(name: &str, words: &[String], line: &str) -> bool {
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(&word.as_str()));
    match name {
        "gh" | "glab" => {
            (line.starts_with("api") && (line.contains("DELETE") || line.contains("delete")))
                || (line.starts_with("repo edit") && line.contains("--visibility"))
        }
        "aws" => line.starts_with("s3 sync") && has(&["--delete"]) || line.starts_with("s3 mv"),
        "gsutil" => line.contains("rsync") && has(&["-d"]),
        "rclone" => words.first().is_some_and(|verb| {
            matches!(
                verb.as_str(),
                "delete"
                    | "purge"
                    | "sync"
                    | "move"
                    | "deletefile"
                    | "cleanup"
                    | "rmdirs"
                    | "bisync"
            )
        }),
        "terraform" | "tofu" | "terragrunt" | "pulumi" => {
            has(&["-destroy", "--destroy"])
                || line.starts_with("apply") && has(&["-auto-approve", "--auto-approve"])
                || line.starts_with("run-all destroy")
        }
        "kubectl" | "oc" => {
            line.contains("scale")
                && (line.contains("--replicas=0") || line.contains("--replicas 0"))
                || line.starts_with("replace") && has(&["--force"])
                || line.contains("--prune")
        }
        "kafka-topics" | "kafka-topics.sh" => has(&["--delete"]),
        "bq" => {
            words.first().is_some_and(|verb| verb == "rm") || line.to_uppercase().contains("DROP ")
        }
        "ansible" => line.contains("state=absent"),
        "stripe" => line.contains("delete"),
        "lvremove" | "vgremove" | "pvremove" => true,
        "heroku" => {
            line.contains(":destroy")
                || line.contains(":reset")
                || line.contains("pg:psql") && line.to_uppercase().contains("DROP")
        }
        _ => false,
    }
}

/// Files of this machine that a service reads or writes.
fn paths(machine: &mut Machine<'_>, call: &Call<'_>, line: &str, state: &State) {
    let copies = [
        "cp ",
        "sync ",
        "mv ",
        "s3 cp",
        "s3 sync",
        "storage cp",
        "copy ",
    ]
    .iter()
    .any(|verb| line.contains(verb));
    if !copies {
        return;
    }
    let operands: Vec<&Field> = call
        .args
        .iter()
        .filter(|arg| !arg.prefix().starts_with('-'))
        .collect();
    let mut local = operands.iter().rev().take(2);
    if let Some(to) = local.next()
        && !super::net::is_remote(to)
        && line.contains(':')
    {
        machine.path(Role::Write, to, state);
    }
    if let Some(from) = local.next()
        && !super::net::is_remote(from)
        && machine.read_file(from, state).taint().has(Taint::SECRET)
    {
        machine.act(&rules::secret::UPLOAD);
    }
}
