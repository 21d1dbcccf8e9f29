"""Scripted programs: loops that put items of one list into another, as trackers do, with writes before and after."""
from typing import List

import torch
from torch import Tensor

from script_programs import Programs

programs = Programs()
program = programs.add
cases = programs.cases


def w(*values: int):
    return torch.tensor(values, dtype=torch.long)


NUMBERS = [(w(3, 1, 2),), (w(1, 1, 0, 2),), (w(0),), (w(2, 2),), (w(1, 0, 2, 0, 3),)]


@torch.jit.script
class Track(object):
    def __init__(self, number: int):
        self.number = number
        self.age = 0


@torch.jit.script
class Path(object):
    def __init__(self, number: int, place: Tensor):
        self.number = number
        self.place = place
        self.seen = [number]


def numbered(count: int):
    tracks: List[Track] = []
    for t in range(count):
        tracks.append(Track(t))
    return tracks


def ages(tracks: List[Track]):
    found: List[int] = []
    for track in tracks:
        found.append(track.number)
        found.append(track.age)
    return torch.tensor(found)


@program(NUMBERS, "i64:n")
def tracks_that_are_kept(x: Tensor):
    tracks: List[Track] = []
    for t in range(x.size(0)):
        for j in range(2):
            if int(x[t]) > 1 and len(tracks) > 0:
                tracks[j % len(tracks)].age += 1
            else:
                tracks.append(Track(t))
        kept: List[Track] = []
        for track in tracks:
            if track.age <= 2:
                kept.append(track)
        tracks = kept
    return ages(tracks)


@program(NUMBERS, "i64:n")
def tracks_that_age_while_they_are_kept(x: Tensor):
    tracks = [Track(7)]
    for t in range(x.size(0)):
        kept: List[Track] = []
        for track in tracks:
            track.age += int(x[t])
            if track.age < 5:
                kept.append(track)
        kept.append(Track(t))
        tracks = kept
    return ages(tracks)


@program(NUMBERS, "i64:n")
def paths_with_lists_that_are_kept(x: Tensor):
    paths: List[Path] = []
    for t in range(x.size(0)):
        kept: List[Path] = []
        for path in paths:
            path.seen.append(t)
            path.place = path.place + x[t]
            if len(path.seen) < 4:
                kept.append(path)
        if int(x[t]) != 1:
            kept.append(Path(t, x[t:]))
        paths = kept
    found: List[int] = []
    for path in paths:
        found.append(path.number)
        found.append(int(path.place.sum()))
        for number in path.seen:
            found.append(number)
    return torch.tensor(found)


@program(NUMBERS, "i64:n")
def rows_that_are_kept(x: Tensor):
    rows: List[List[int]] = []
    for i in range(x.size(0)):
        rows.append([i])
        kept: List[List[int]] = []
        for row in rows:
            row.append(int(x[i]))
            if len(row) < 4:
                kept.append(row)
        rows = kept
    found: List[int] = []
    for row in rows:
        for number in row:
            found.append(number)
    return torch.tensor(found)


@program(NUMBERS, "i64:n")
def tracks_in_two_lists(x: Tensor):
    tracks: List[Track] = []
    for t in range(x.size(0)):
        tracks.append(Track(int(x[t])))
    even: List[Track] = []
    odd: List[Track] = []
    for track in tracks:
        track.age = 1
        if track.number % 2 == 0:
            even.append(track)
        else:
            odd.append(track)
    return ages(even), ages(odd)


# A track that is kept twice, changed afterwards under one of its names.
@program(NUMBERS, "i64:n")
def tracks_that_are_kept_twice(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    for track in tracks:
        kept.append(track)
        if int(x[track.number]) > 1:
            kept.append(track)
    for i in range(len(kept)):
        kept[i].age += 1
    return ages(kept)


@program(NUMBERS, "i64:n")
def tracks_that_two_loops_keep(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    for track in tracks:
        if int(x[track.number]) > 1:
            kept.append(track)
    for track in tracks:
        if int(x[track.number]) < 3:
            kept.append(track)
    for i in range(len(kept)):
        kept[i].age += 1
    return ages(kept)


@program(NUMBERS, "i64:n")
def tracks_that_change_once_they_are_kept(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    for track in tracks:
        kept.append(track)
        track.age += 1
    return ages(kept), ages(tracks)


@program(NUMBERS, "i64:n")
def tracks_that_change_where_they_come_from(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    for track in tracks:
        if int(x[track.number]) > 0:
            kept.append(track)
    for i in range(len(tracks)):
        tracks[i].age += i
    return ages(kept), ages(tracks)


# The loop moves what stands in the list that it reads.
@program(NUMBERS, "i64:n")
def tracks_that_turn_around_while_they_are_kept(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    for i in range(len(tracks)):
        kept.append(tracks[i])
        tracks.reverse()
    for i in range(len(kept)):
        kept[i].age += 1
    return ages(kept)


@program(NUMBERS, "i64:n")
def tracks_of_every_second_place_that_are_kept(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    for i in range(len(tracks)):
        kept.append(tracks[i // 2])
    for i in range(len(kept)):
        kept[i].age += 1
    return ages(kept)


@program(NUMBERS, "i64:n")
def tracks_that_change_where_they_are_dropped(x: Tensor):
    tracks: List[Track] = []
    for t in range(x.size(0)):
        kept: List[Track] = []
        for track in tracks:
            track.age += int(x[t])
            if track.age < 3:
                kept.append(track)
            else:
                track.number = -1
        tracks = kept
        tracks.append(Track(t))
    return ages(tracks)


# Both branches keep it, and what follows changes it.
@program(NUMBERS, "i64:n")
def tracks_that_change_after_both_branches_keep_them(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    others: List[Track] = []
    for track in tracks:
        if int(x[track.number]) > 1:
            kept.append(track)
        else:
            others.append(track)
        track.age += 1
    return ages(kept), ages(others), ages(tracks)


# The loop counts for itself, as one that is left early does in a saved file.
@program(NUMBERS, "i64:n")
def tracks_at_a_counted_place_that_are_kept(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    i = 0
    while i < len(tracks):
        track = tracks[i]
        track.age += i
        if int(x[track.number]) != 1:
            kept.append(track)
        i += 1
    for i in range(len(kept)):
        kept[i].age += 1
    return ages(kept)


# One track gets into the list by two counters.
@program(NUMBERS, "i64:n")
def tracks_at_two_counted_places(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    i, j = 0, 0
    while j < len(tracks):
        if int(x[i]) > 1:
            kept.append(tracks[i])
        else:
            kept.append(tracks[j])
        i += 1
        j += 2
    for i in range(len(kept)):
        kept[i].age += 1
    return ages(kept)


# Two names may mean the list that gets the item: a write to the item is one in the list under either name.
@program(NUMBERS, "i64:n")
def rows_of_a_list_that_may_have_two_names(x: Tensor):
    rows: List[List[int]] = []
    kept: List[List[int]] = []
    others: List[List[int]] = []
    for i in range(x.size(0)):
        others = kept
        rows.append([i])
        kept = rows[:0]  # PyTorch makes one list of a literal here
        for row in rows:
            row[0] = row[0] * 2
            others.append(row)
        rows = kept
    found: List[int] = []
    for row in others:
        found.append(row[0])
    return torch.tensor(found)


# A control for those above that change a track after it was kept: its list isn't read any more.
@program(NUMBERS, "i64:n")
def tracks_of_a_list_that_is_kept_whole(x: Tensor):
    tracks = numbered(x.size(0))
    kept: List[Track] = []
    for track in tracks:
        if int(x[track.number]) != 1:
            kept.append(track)
    for i in range(len(kept)):
        kept[i].age += i
    return ages(kept)
