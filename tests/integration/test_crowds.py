"""Crowds and classes: shared links, workers of platforms, codes, blocks, and the table for payments."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from annotation.changes import print_settings
from annotation.consent import text_hash
from annotation.crowds import CrowdSettings, Outcome, Source, Worker
from annotation.errors import AccessError, InvitationError, SettingsError, TooManyAttemptsError
from annotation.gold import ExportOptions, Unfinished
from annotation.quality import QualitySettings
from annotation.services import crowds as crowd_rows
from annotation.services.bundle import Services, open_services
from annotation.services.crowds import CrowdService
from annotation.services.projects import ProjectService
from annotation.services.sign_in import PER_ADDRESS
from annotation.types import KnownPair, NewPair, ProjectSettings, Role, utcnow
from annotation.ui.crowds import read_end
from annotation.web.mount import add_annotation_routes
from db.models import Arrival, Membership, User
from tests.people import CHEAP, HERE, PASSWORD, THERE, MovableClock, at_once, count, give
from tests.raters import TYPE, World, check, check_finished, new_world

API = "/annotate/api"
CONSENT = "You may stop at any time."
ENDS = CrowdSettings("DONE-{id}", "OUT", "https://example.org/complete?cc={code}", "lab@example.org")


def known(id: str, grade: str) -> KnownPair:
    return KnownPair(NewPair(id, TYPE, f"The {id} ship is in the dock.", f"a docked {id}"), Decimal(grade))


@pytest.fixture
def crowds(database, clock: MovableClock) -> CrowdService:
    return CrowdService(database, clock=clock, passwords=CHEAP)


@pytest.fixture
def link(crowds, project, clock):
    def make(most: int = 3, days: int = 7) -> str:
        return crowds.make_link(project, most, clock() + timedelta(days=days))

    return make


def prolific(id: str) -> Worker:
    return Worker(Source.PROLIFIC, id, "study", "visit")


def test_members_are_chosen_among_accounts_that_were_not_made_up_for_another_project(
    crowds, link, accounts, database, project
):
    token, other = link(), ProjectService(database).create(ProjectSettings(name="Other")).id
    crowds.come(token, HERE, "Ana", PASSWORD)
    crowds.come(token, HERE, "", PASSWORD)
    crowds.come_as_worker(token, HERE, prolific("w1"))
    accounts.add_user("rater-in-chief")
    accounts.add_user("Zoe")
    accounts.disable("Zoe")
    assert [user.name for user in accounts.users_to_add(other)] == ["Ana", "rater-in-chief"]
    assert len(accounts.users_to_add(project)) == 4


def test_a_shared_link_makes_raters_until_it_is_full_and_tells_how_many_came(crowds, link, accounts, project):
    token = link(most=2)
    crowds.come(token, HERE, "Ana", PASSWORD)
    crowds.come(token, HERE, "", PASSWORD)
    assert accounts.roles("ana", project) == {Role.RATER}
    [made_up] = [user.name for user in accounts.users() if user.name != "Ana"]
    assert made_up.startswith("rater-")
    with pytest.raises(InvitationError, match="All places of this link are taken"):
        crowds.come(token, HERE, "Ben", PASSWORD)
    [line] = crowds.links(project)
    assert (line.came, line.most, line.state) == (2, 2, "full")
    assert [user.name for user in accounts.users() if user.name == "Ben"] == []


def test_a_link_that_ended_or_was_revoked_is_refused_in_a_sentence(crowds, link, project, clock):
    ended, revoked = link(days=1), link(days=30)
    crowds.come_as_worker(ended, HERE, prolific("w1"))
    clock.forward(days=2)
    with pytest.raises(InvitationError, match="ended on 23 November, 12:00 UTC"):
        crowds.come(ended, HERE, "Ana", PASSWORD)
    crowds.come_as_worker(ended, HERE, prolific("w1"))  # may finish
    crowds.revoke_link(project, crowds.links(project)[0].number)
    with pytest.raises(InvitationError, match="unknown or no longer valid"):
        crowds.come(revoked, HERE, "Ana", PASSWORD)
    with pytest.raises(InvitationError, match="unknown or no longer valid"):
        crowds.offer("never made")
    assert [line.state for line in crowds.links(project)] == ["revoked", "ended"]


@pytest.mark.both_databases
def test_of_eight_who_come_at_once_exactly_as_many_get_in_as_there_are_places(
    crowds, link, database, project
):
    token = link(most=3)
    answers = at_once([lambda n=n: crowds.come_as_worker(token, HERE, prolific(f"w{n}")) for n in range(8)])
    assert sum(isinstance(each, InvitationError) for each in answers) == 5
    assert count(database, Arrival) == count(database, Membership) == count(database, User) == 3


@pytest.mark.both_databases
def test_the_same_worker_at_once_by_two_links_is_one_account(crowds, link, database, sign_ins):
    tokens = [link(), link()]
    came = at_once([lambda t=t: crowds.come_as_worker(t, HERE, prolific("w1")) for t in tokens * 2])
    assert len({sign_ins.user_of(each.token).id for each in came}) == 1
    assert count(database, Arrival) == 1


@pytest.mark.both_databases
def test_an_account_that_joins_at_once_by_several_links_is_a_rater_once(crowds, link, database, accounts):
    accounts.add_user("Ana", PASSWORD)
    tokens = [link() for _ in range(4)]
    assert len(set(at_once([lambda t=t: crowds.join(t, "Ana") for t in tokens * 2]))) == 1
    assert count(database, Arrival) == count(database, Membership) == 1


def test_ids_of_an_address_open_no_account_that_has_got_another_role(
    crowds, link, database, accounts, sign_ins, project
):
    token = link()
    user = sign_ins.user_of(crowds.come_as_worker(token, HERE, prolific("w1")).token)
    other = crowds.come_as_worker(token, HERE, Worker(Source.MTURK, "w1"))
    assert sign_ins.user_of(other.token).id != user.id
    give(database, project, user.id, Role.ADJUDICATOR)
    with pytest.raises(InvitationError, match="has other roles by now"):
        crowds.come_as_worker(token, HERE, prolific("w1"))
    accounts.disable(sign_ins.user_of(other.token).name)
    with pytest.raises(InvitationError, match="no longer a rater"):
        crowds.come_as_worker(token, HERE, Worker(Source.MTURK, "w1"))


def test_a_shared_link_gives_no_role_but_rater_and_no_other_project(crowds, link, database, accounts, clock):
    crowds.come(link(), HERE, "Ana", PASSWORD)
    assert [(each.user.name, each.roles) for each in accounts.accounts()] == [
        ("Ana", (("News", Role.RATER),))
    ]
    with pytest.raises(AccessError):
        accounts.require("Ana", None)


def test_who_comes_from_one_address_too_often_waits_and_others_do_not(crowds, link, sign_ins, accounts):
    accounts.add_user("Cleo", PASSWORD)
    token = link(most=1000)
    for number in range(PER_ADDRESS):
        crowds.come_as_worker(token, HERE, prolific(f"w{number}"))
    with pytest.raises(TooManyAttemptsError):
        crowds.come_as_worker(token, HERE, prolific("one more"))
    crowds.come_as_worker(token, THERE, prolific("elsewhere"))
    sign_ins.sign_in("Cleo", PASSWORD, HERE)


def test_a_link_of_who_may_no_longer_invite_lets_nobody_in(crowds, accounts, database, project, clock):
    lead = accounts.add_user("Lead", PASSWORD)
    give(database, project, lead.id, Role.ADMINISTRATOR)
    token = crowds.make_link(project, 5, clock() + timedelta(days=1), by=lead)
    crowds.come(token, HERE, "Ana", PASSWORD)
    accounts.disable("Lead")
    with pytest.raises(InvitationError, match="may no longer invite"):
        crowds.come(token, HERE, "Ben", PASSWORD)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"return_address": "javascript:alert(1)"}, "begins with https://"),
        ({"return_address": "example.org/x"}, "begins with https://"),
        ({"completion_code": "x" * 61}, "at most 60 characters"),
    ],
)
def test_an_end_that_cannot_be_shown_is_refused(crowds, project, settings, said):
    with pytest.raises(SettingsError, match=said):
        crowds.change(project, CrowdSettings(**settings))
    assert crowds.settings(project) == CrowdSettings()


def test_two_leads_who_change_the_end_undo_nothing_of_each_other(crowds, project):
    crowds.change(project, CrowdSettings("DONE", contact="lab@example.org"))
    seen = print_settings(crowds.settings(project))
    crowds.change(project, CrowdSettings("DONE", "OUT", contact="lab@example.org"), seen=seen)
    kept = crowds.change(project, CrowdSettings("DONE", contact="desk@example.org"), seen=seen)
    assert kept == crowds.settings(project) == CrowdSettings("DONE", "OUT", contact="desk@example.org")
    with pytest.raises(SettingsError, match="Somebody else has changed the line on whom to ask"):
        crowds.change(project, CrowdSettings("DONE", contact="me@example.org"), seen=seen)


@pytest.mark.parametrize("typed", ["tomorrow", "0001-01-01 00:00+14:00", "9999-12-31 23:00-10:00"])
def test_a_moment_that_there_is_not_is_refused_as_the_end_of_a_link(typed):
    with pytest.raises(SettingsError, match="a date and time such as 2026-12-31 18:00"):
        read_end(typed)


# A crowd, from the link to the payments


class Visit:
    """A worker's browser, which knows nothing but the link that the platform made."""

    def __init__(self, server: FastAPI, token: str, id: str) -> None:
        self.client = TestClient(server, follow_redirects=False, client=(HERE, 4000))
        self.page = f"/join/{token}?PROLIFIC_PID={id}&STUDY_ID=study7&SESSION_ID=visit-{id}"
        self.ids = {"PROLIFIC_PID": id, "STUDY_ID": "study7", "SESSION_ID": f"visit-{id}"}

    def begin(self) -> httpx.Response:
        shown = self.client.get(self.page)
        assert (shown.status_code, "Begin" in shown.text) == (200, True), shown.text
        answer = self.client.post(self.page.partition("?")[0], data=self.ids)
        self.project = answer.headers.get("location", "").rpartition("=")[2]
        return answer

    def queue(self) -> httpx.Response:
        return self.client.get(f"{API}/projects/{self.project}/queue")

    def agree(self) -> None:
        sha256 = self.queue().json()["consent"]["sha256"]
        answer = self.client.post(f"{API}/projects/{self.project}/consent", json={"sha256": sha256})
        assert answer.status_code == 200

    def train(self, knows: dict[str, str], *, is_right: bool = True) -> dict:
        answer = self.queue().json()
        while answer["pairs"] and answer.get("training"):
            [pair] = answer["pairs"]
            grade = float(knows[pair["right"]])
            body = {"grade": grade if is_right else (grade + 2) % 4, "seconds": 3}
            answer = self.client.put(f"{API}/training/{pair['training']}/rating", json=body).json()
        return answer

    def grade(self, knows: dict[str, str], *, is_right: bool = True, most: int = 100) -> dict:
        """Grade what comes: known pairs as known or far off, others with a 2."""
        answer = self.queue().json()
        for _ in range(most):
            if not answer.get("pairs"):
                break
            pair = answer["pairs"][0]
            grade = float(knows.get(pair["right"], "2"))
            grade = grade if is_right else 4 - grade
            body = {"grade": grade, "seconds": 60}
            answer = self.client.put(f"{API}/pairs/{pair['id']}/rating", json=body).json()
        return answer


@pytest.fixture
def campaign(database) -> tuple[Services, World, FastAPI]:
    """20 pairs for two raters each, six a worker; two training pairs, and every third pair a check."""
    world = new_world(
        database,
        pairs=20,
        raters=1,
        k=2,
        most_per_rater=6,
        consent=CONSENT,
        consent_sha256=text_hash(CONSENT),
    )
    services = open_services(database)
    services.known_pairs.import_training(world.project, [known("t1", "0"), known("t2", "1")])
    checks = [known(f"c{n}", "0" if n % 2 else "4") for n in range(6)]
    services.known_pairs.import_checks(world.project, checks)
    limits = {"training_tries": 2, "block_wrong": 2, "block_of": 3}
    services.quality.change(world.project, QualitySettings(check_every=3, **limits))
    services.crowds.change(world.project, ENDS)
    server = FastAPI()
    add_annotation_routes(server, services)
    return services, world, server


KNOWS = {f"a docked {id}": grade for id, grade in (("t1", "0"), ("t2", "1"))} | {
    f"a docked c{n}": "0" if n % 2 else "4" for n in range(6)
}


def test_a_crowd_of_twelve_goes_from_the_shared_link_to_payments_and_gold(campaign, tmp_path):
    services, world, server = campaign
    token = services.crowds.make_link(world.project, 11, utcnow() + timedelta(days=1), note="Prolific")
    visits = {id: Visit(server, token, id) for id in [f"w{n}" for n in range(1, 13)]}
    for visit in list(visits.values())[:11]:
        assert visit.begin().status_code == 303
        assert "cannot be" not in visit.queue().text
        visit.agree()

    late = visits.pop("w12").begin()
    assert (late.status_code, "All places of this link are taken" in late.text) == (410, True)

    failing = visits.pop("w3")  # does not understand the task
    assert failing.train(KNOWS, is_right=False)["training"]["tries_left"] == 1
    assert failing.client.post(f"{API}/projects/{world.project}/training").status_code == 200
    ended = failing.train(KNOWS, is_right=False)
    assert (ended["training"]["phase"], ended["training"]["tries_left"]) == ("failed", 0)
    assert ended["completion"] == {
        "outcome": "screened_out",
        "code": "OUT",
        "address": "https://example.org/complete?cc=OUT",
        "contact": "lab@example.org",
    }
    refused = failing.client.post(f"{API}/projects/{world.project}/training")
    assert (refused.status_code, "all your tries" in refused.json()["error"]) == (409, True)

    for careless in (visits.pop("w5"), visits.pop("w6")):
        careless.train(KNOWS)
        last = careless.grade(KNOWS, is_right=False)
        assert "completion" not in last
        assert last["ended"]
        told = careless.queue()
        assert (told.status_code, "has ended" in told.json()["error"]) == (403, True)
    check(world)

    twice = visits.pop("w1")
    twice.train(KNOWS)
    twice.grade(KNOWS, most=3)
    again = Visit(server, token, "w1")
    again.begin()
    assert again.queue().json()["progress"]["rated"] == 3
    done = again.grade(KNOWS)
    assert done["share_graded"]
    code = done["completion"]["code"]
    assert code.startswith("DONE-")
    assert twice.queue().json()["completion"]["code"] == code

    for visit in visits.values():
        visit.train(KNOWS)
        visit.grade(KNOWS)
    check_finished(world)

    lines = {line.worker: line for line in services.crowds.workers(world.project)}
    assert len(lines) == 11
    states = {id: line.state for id, line in lines.items()}
    assert states == {
        **dict.fromkeys(("w1", *visits), "finished"),
        "w3": "screened out",
        **dict.fromkeys(("w5", "w6"), "blocked"),
    } | {id: state for id, state in states.items() if state == "nothing left"}
    assert lines["w1"].pairs == 6
    assert lines["w1"].code == code
    assert lines["w1"].minutes == pytest.approx(6 + lines["w1"].checks)
    assert lines["w1"].checks_passed == lines["w1"].checks > 0
    assert lines["w5"].checks_passed == 0
    assert lines["w5"].code == ""
    assert (lines["w3"].tries, lines["w3"].pairs, lines["w3"].code) == (2, 0, "OUT")
    assert all(line.pairs <= 6 for line in lines.values())

    services.gold.export(world.project, tmp_path / "gold", ExportOptions(unfinished=Unfinished.REFUSE))
    excluded = [rater for rater in services.exclusion.raters(world.project) if rater.set_aside]
    assert {rater.name for rater in excluded} == {lines["w5"].account, lines["w6"].account}

    admin = services.accounts.add_user("root", PASSWORD, is_administrator=True)
    browser = TestClient(server, follow_redirects=False)
    browser.post("/sign-in", data={"name": admin.name, "password": PASSWORD})
    file = browser.get(f"/annotate/download/{world.project}/workers.csv")
    rows = list(csv.DictReader(io.StringIO(file.content.decode("utf-8-sig"))))
    assert [row["worker"] for row in rows] == [f"w{n}" for n in range(1, 12)]
    assert (rows[0]["state"], rows[0]["pairs"], rows[0]["code"]) == ("finished", "6", code)
    assert again.client.get(f"/annotate/download/{world.project}/workers.csv").status_code == 403


def test_a_block_is_lifted_by_the_lead_and_earlier_checks_count_no_more(campaign):
    services, world, server = campaign
    token = services.crowds.make_link(world.project, 2, utcnow() + timedelta(days=1))
    visit = Visit(server, token, "w1")
    visit.begin()
    visit.agree()
    visit.train(KNOWS)
    visit.grade(KNOWS, is_right=False)
    [line] = services.crowds.workers(world.project)
    assert line.state == "blocked"
    services.exclusion.restore(world.project, line.account)
    assert visit.queue().status_code == 200
    assert services.crowds.workers(world.project)[0].state == "at work"
    visit.grade(KNOWS)
    assert services.crowds.workers(world.project)[0].state == "finished"


def test_who_skips_as_much_as_they_grade_has_not_graded_their_share(campaign):
    services, world, _ = campaign
    services.quality.change(world.project, QualitySettings())
    services.known_pairs.retire_training(world.project)
    rater = services.crowds.come_as_worker(
        services.crowds.make_link(world.project, 2, utcnow() + timedelta(days=1)), HERE, prolific("w1")
    )
    user = services.sign_ins.user_of(rater.token)
    ended = services.crowds.settle(world.project, user.id, has_share=False)
    assert ended.outcome is Outcome.NOTHING_LEFT
    ended = services.crowds.settle(world.project, user.id, has_share=True)
    assert (ended.outcome, ended.code[:5]) == (Outcome.FINISHED, "DONE-")
    ended = services.crowds.settle(world.project, user.id, has_share=False)
    assert ended.outcome is Outcome.FINISHED  # for good


def test_who_finishes_in_one_tab_is_finished_in_the_other_too(campaign, monkeypatch):
    services, world, _ = campaign
    rater = services.crowds.come_as_worker(
        services.crowds.make_link(world.project, 2, utcnow() + timedelta(days=1)), HERE, prolific("w1")
    )
    user = services.sign_ins.user_of(rater.token)
    after_arrival = crowd_rows._arrival_of

    def arrival_then_finish(session, project_id, rater_id):
        found = after_arrival(session, project_id, rater_id)
        monkeypatch.setattr(crowd_rows, "_arrival_of", after_arrival)
        services.crowds.settle(world.project, user.id, has_share=True)
        return found

    monkeypatch.setattr(crowd_rows, "_arrival_of", arrival_then_finish)
    told = services.crowds.settle(world.project, user.id, has_share=False)
    assert (told.outcome, told.code[:5]) == (Outcome.FINISHED, "DONE-")
    [line] = services.crowds.workers(world.project)
    assert (line.state, line.code) == ("finished", told.code)


def test_check_pairs_make_up_for_no_pair_that_was_skipped(database):
    world = new_world(database, pairs=4, raters=1, k=1)
    services, server = open_services(database), FastAPI()
    add_annotation_routes(server, services)
    services.known_pairs.import_checks(world.project, [known(f"c{n}", "4") for n in range(0, 6, 2)])
    services.quality.change(world.project, QualitySettings(check_every=2))
    services.crowds.change(world.project, ENDS)
    link = services.crowds.make_link(world.project, 1, utcnow() + timedelta(days=1))
    visit = Visit(server, link, "w1")
    visit.begin()
    answer, own = visit.queue().json(), 0
    while pairs := answer["pairs"]:
        address, is_check = f"{API}/pairs/{pairs[0]['id']}", pairs[0]["right"] in KNOWS
        own += not is_check
        if is_check or own > 2:
            answer = visit.client.put(f"{address}/rating", json={"grade": 4, "seconds": 60}).json()
        else:
            answer = visit.client.post(f"{address}/skip", json={"reason": "other", "note": ""}).json()
    [line] = services.crowds.workers(world.project)
    assert (line.pairs, line.skipped) == (2, 2)
    assert line.checks > 0
    assert answer["completion"]["outcome"] == "nothing_left"
