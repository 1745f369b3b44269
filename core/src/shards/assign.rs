use alloc::vec;
use alloc::vec::Vec;

/// The next holder of each shard: each of `members` gets as many as the others, or one more. `held` is the member that holds
/// a shard now, if one does. Few shards move: a member keeps its own, up to its part.
pub(super) fn assign(held: &[Option<usize>], members: usize) -> Vec<usize> {
    if members == 0 {
        return Vec::new();
    }
    let mut room = parts(held, members);
    let mut assigned: Vec<Option<usize>> = held.iter().map(|holder| holder.filter(|it| take(&mut room, *it))).collect();
    let mut next = 0;
    for shard in assigned.iter_mut().filter(|shard| shard.is_none()) {
        while !take(&mut room, next) {
            next += 1;
        }
        *shard = Some(next);
    }
    assigned.into_iter().flatten().collect()
}

/// How many shards each member gets. Those that hold the most get one more than others, if the parts are not equal.
fn parts(held: &[Option<usize>], members: usize) -> Vec<usize> {
    let mut loads = vec![0_usize; members];
    held.iter().flatten().for_each(|member| loads[*member] += 1);
    let mut order: Vec<usize> = (0..members).collect();
    order.sort_by_key(|member| core::cmp::Reverse(loads[*member]));
    let mut parts = vec![held.len() / members; members];
    order.iter().take(held.len() % members).for_each(|member| parts[*member] += 1);
    parts
}

fn take(room: &mut [usize], member: usize) -> bool {
    let has_room = room[member] > 0;
    room[member] -= usize::from(has_room);
    has_room
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(assigned: &[usize], members: usize) -> Vec<usize> {
        (0..members).map(|member| assigned.iter().filter(|it| **it == member).count()).collect()
    }

    #[test]
    fn parts_differ_by_one_at_most_and_no_more_shards_move_than_have_to() {
        let mut held: Vec<Option<usize>> = vec![None; 32];
        for (members, moved) in [(1, 32), (3, 21), (5, 12), (5, 0), (4, 6), (40, 0)] {
            // A member that is gone holds nothing.
            held.iter_mut().for_each(|holder| *holder = holder.filter(|it| *it < members));
            let assigned = assign(&held, members);
            let loads = loads(&assigned, members);
            assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1, "{loads:?}");
            if members <= 32 {
                let changed = assigned.iter().zip(&held).filter(|(now, before)| Some(**now) != **before).count();
                assert_eq!(changed, moved, "to {members} members");
            }
            held = assigned.into_iter().map(Some).collect();
        }
        assert!(assign(&held, 0).is_empty());
    }

    #[test]
    fn what_is_to_move_stays_the_same_while_it_moves() {
        let mut held: Vec<Option<usize>> = (0..30).map(|shard| Some(shard / 10)).collect();
        let wanted = assign(&held, 5);
        let moves: Vec<usize> = (0..30).filter(|shard| Some(wanted[*shard]) != held[*shard]).collect();
        for shard in moves.iter().rev() {
            held[*shard] = Some(wanted[*shard]);
            assert_eq!(loads(&assign(&held, 5), 5), [6; 5]);
            let rest = (0..30).filter(|shard| Some(assign(&held, 5)[*shard]) != held[*shard]).count();
            assert!(rest < moves.len(), "{rest}");
        }
    }
}
