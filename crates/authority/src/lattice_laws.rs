//! The lattice laws (S5), by property tests.

use proptest::prelude::*;

use crate::*;

fn roots() -> impl Strategy<Value = Set<Root>> {
    let root = prop::collection::vec("[ab]", 0..4)
        .prop_map(|parts| Root::new(format!("/{}", parts.join("/"))).unwrap());
    set_of(root)
}

fn set_of<T: Covers + std::fmt::Debug>(
    item: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Set<T>> {
    prop_oneof![
        1 => Just(Set::Any),
        6 => prop::collection::vec(item, 0..5).prop_map(Set::only),
    ]
}

fn hosts() -> impl Strategy<Value = Set<Host>> {
    set_of(
        prop::sample::select(vec![
            "a.org",
            "x.a.org",
            "*.a.org",
            "*.x.a.org",
            "b.net",
            "*.net",
        ])
        .prop_map(|host| Host(host.to_owned())),
    )
}

fn limit() -> impl Strategy<Value = Option<u64>> {
    prop::option::of(0..4u64)
}

prop_compose! {
    fn budget()(values in prop::collection::vec(limit(), 9)) -> Budget {
        Dimension::ALL.into_iter().zip(values).fold(Budget::UNLIMITED, |budget, (dimension, limit)| budget.with(dimension, limit))
    }
}

prop_compose! {
    fn bounds()(
        read in roots(), write in roots(), hosts in hosts(), budget in budget(),
        tools in set_of(prop::sample::select(Tool::ALL.to_vec())),
        commands in set_of(prop::collection::vec("[ab]", 1..3).prop_map(CommandRule)),
        ports in set_of(0..4u16), price in limit(), depth in 0..3u8,
        resources in prop::sample::select(vec![Resources::RunnerOnly, Resources::User, Resources::TrustedProject]),
    ) -> Bounds {
        Bounds { read, write, hosts, budget, tools, commands, ports, price: PriceCeiling(price), depth, resources, ..Bounds::ANY }
    }
}

proptest! {
    #[test]
    fn meet_is_a_greatest_lower_bound(a in bounds(), b in bounds(), c in bounds()) {
        let meet = a.meet(&b);
        prop_assert_eq!(&meet, &b.meet(&a));
        prop_assert_eq!(&a.meet(&a), &a);
        prop_assert_eq!(meet.meet(&c), a.meet(&b.meet(&c)));
        prop_assert!(meet.is_within(&a) && meet.is_within(&b));
        if c.is_within(&a) && c.is_within(&b) {
            prop_assert!(c.is_within(&meet));
        }
        prop_assert_eq!(a.is_within(&b), meet == a);
        prop_assert_eq!(&a.meet(&Bounds::ANY), &a);
    }

    #[test]
    fn a_set_permits_what_both_sides_permit(a in roots(), b in roots(), probe in prop::collection::vec("[ab]", 0..5)) {
        let probe = Root::new(format!("/{}", probe.join("/"))).unwrap();
        prop_assert_eq!(a.meet(&b).permits(&probe), a.permits(&probe) && b.permits(&probe));
    }

    #[test]
    fn attenuation_never_widens_and_its_order_is_free(layers in prop::collection::vec(bounds(), 0..5)) {
        let workspace = Workspace { root: Root::new("/a").unwrap(), device: 1, inode: 1, mode: WorkspaceMode::Direct };
        let start = Grant::of_principal(Preset::ReadOnly, workspace, Bounds::ANY);
        let mut grant = start.clone();
        for layer in &layers {
            let next = grant.attenuate(Layer::Request, layer);
            prop_assert!(next.bounds().is_within(grant.bounds()));
            prop_assert!(next.bounds().is_within(layer));
            // What narrowed is recorded, and only that.
            prop_assert_eq!(next.trail().len() > grant.trail().len(), next.bounds() != grant.bounds());
            grant = next;
        }
        let backwards = layers.iter().rev().fold(start, |grant, layer| grant.attenuate(Layer::Request, layer));
        prop_assert_eq!(grant.bounds(), backwards.bounds());
        let (bytes, digest) = grant.seal();
        prop_assert_eq!(Grant::unseal(&bytes, &digest).unwrap(), grant);
    }
}

#[test]
fn sealed_bytes_that_changed_are_refused() {
    let workspace = Workspace {
        root: Root::new("/a").unwrap(),
        device: 1,
        inode: 1,
        mode: WorkspaceMode::Direct,
    };
    let grant = Grant::of_principal(Preset::ReadOnly, workspace, Bounds::ANY);
    let (mut bytes, digest) = grant.seal();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    assert!(matches!(
        Grant::unseal(&bytes, &digest),
        Err(UnsealError::Digest)
    ));
}
