"""What one test leaves in a browser profile is not there for the next."""

from __future__ import annotations

import time

from tests.profiles import Profiles


def test_a_profile_whose_clock_was_moved_is_not_used_again(browser):
    profiles = Profiles()
    page = profiles.take(browser).new_page()
    page.clock.install()
    page.clock.fast_forward(600_000)
    profiles.give_back()
    later = profiles.take(browser).new_page()
    assert abs(later.evaluate("Date.now()") / 1000 - time.time()) < 300
    profiles.close()


def test_the_next_test_finds_the_profile_empty_and_the_browser_as_it_is_used(browser, address):
    profiles = Profiles()
    context = profiles.take(browser)
    page = context.new_page()
    page.goto(f"{address}/healthz")
    page.evaluate("localStorage.setItem('seen', '1'); document.cookie = 'seen=1'")
    profiles.give_back()
    assert profiles.take(browser) is context
    page = context.new_page()
    page.goto(f"{address}/healthz")
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    profiles.close()
