"""When several services must all agree, and what was done has to be undone if one does not.

    rivet send trips '{"to": "Lima", "hotel": "full"}'

Nothing is undone by itself: each step brings the handler that takes it back.
"""

from rivetpy import actor, queue, setup
from rivetpy.workflow import CriticalError, workflow


async def book_flight(step, trip):
    step.state["booked"].append("flight")
    return f"flight to {trip['to']}"  # the service's booking number


async def book_hotel(step, trip):
    if trip.get("hotel") == "full":
        raise CriticalError("no room left")  # asking again would not help
    step.state["booked"].append("hotel")
    return f"hotel in {trip['to']}"


async def charge(step, trip):
    if trip.get("card") == "declined":
        raise CriticalError("card declined")
    step.state["booked"].append("charge")


async def cancel_flight(step, booking):  # gets what the step returned
    step.state["booked"].remove("flight")


async def cancel_hotel(step, booking):
    step.state["booked"].remove("hotel")


async def run(ctx):
    message = await ctx.queue.next("wait-trip")
    trip = message.body
    await ctx.rollback_checkpoint("trip")
    flight = await ctx.step("flight", book_flight, trip, rollback=cancel_flight)
    hotel = await ctx.step("hotel", book_hotel, trip, rollback=cancel_hotel)
    await ctx.step("charge", charge, trip)  # fails: first the hotel is cancelled, then the flight
    return [flight, hotel]


trip = actor(
    state={"booked": []},
    queues={"trips": queue()},
    run=workflow(run),
    actions={"getState": lambda c: c.state},
)
registry = setup(use={"trip": trip})
