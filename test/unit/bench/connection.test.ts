import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { timesHaproxy, verdictOf, type Figure } from '../../../bench/connection/figures.ts';
import { readIperf3, readWrk } from '../../../bench/connection/loads.ts';
import { outageOf, readProbes } from '../../../bench/connection/scenarios/failover.ts';

const bulk: Figure = { id: 'bulk', scenario: 'bulk', what: 'iperf3', unit: 'Gbit/s', aim: { kind: 'times-haproxy', least: 0.5 } };
const delay: Figure = { id: 'latency', scenario: 'requests', what: 'latency', unit: 'µs', aim: { kind: 'times-haproxy', most: 1.25 } };
const memory: Figure = { id: 'memory', scenario: 'memory', what: 'memory', unit: 'MB', aim: { kind: 'value', most: 100 } };

describe('a figure of a connection', () => {
  it('is met at its limit, by the medians, whichever way the limit lies', () => {
    assert.equal(verdictOf(bulk, { earshot: [1, 5, 99], haproxy: [10, 10, 10] }).kind, 'met');
    assert.equal(verdictOf(bulk, { earshot: [4.9], haproxy: [10] }).kind, 'missed');
    assert.equal(verdictOf(delay, { earshot: [125], haproxy: [100] }).kind, 'met');
    assert.equal(verdictOf(delay, { earshot: [126], haproxy: [100] }).kind, 'missed');
    assert.equal(verdictOf(memory, { earshot: [100] }).kind, 'met');
    assert.equal(verdictOf(memory, { earshot: [101] }).kind, 'missed');
  });

  it('is not measured without what it is compared with', () => {
    assert.equal(verdictOf(bulk, { earshot: [6] }).kind, 'not-measured');
    assert.equal(verdictOf(bulk, { haproxy: [6] }).kind, 'not-measured');
    assert.equal(timesHaproxy({ earshot: [6] }), '');
    assert.equal(timesHaproxy({ earshot: [6], haproxy: [8] }), '0.75 ×');
  });
});

describe('what the clients print', () => {
  const said = `
  1 threads and 50 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.20ms  300.00us   9.00ms   90.00%
  Latency Distribution
     50%  980.00us
     75%    1.10ms
     90%    1.40ms
     99%    2.50ms
  40000 requests in 1.00s, 6.00MB read
Requests/sec:  39876.50
Transfer/sec:      6.00MB
`;

  it('of wrk: the rate and the percentiles in microseconds', () => {
    assert.deepEqual(readWrk(said), { perSecond: 39_876.5, p50: 980, p99: 2_500 });
  });

  it('of wrk: is refused where more than one request in a thousand failed', () => {
    assert.doesNotThrow(() => readWrk(`${said}  Socket errors: connect 0, read 40, write 0, timeout 0\n`));
    assert.throws(() => readWrk(`${said}  Socket errors: connect 1, read 40, write 0, timeout 0\n`), /41 of 40000/);
    assert.throws(() => readWrk(`${said}  Non-2xx or 3xx responses: 41\n`), /41 of 40000/);
    assert.throws(() => readWrk('unable to connect'), /wrk/);
  });

  it('of iperf3: what was received, or its own words', () => {
    const text = JSON.stringify({ end: { sum_received: { bytes: 5e9, bits_per_second: 8e9 } } });
    assert.deepEqual(readIperf3(text), { gigabits: 8, gigabytes: 5 });
    assert.throws(() => readIperf3('{"error": "unable to connect"}'), /unable to connect/);
  });
});

describe('an outage', () => {
  it('lasts from the death until the last connection that failed was begun', () => {
    const probes = readProbes('990.0 1\n1005.0 0\n1010.0 1\n1030.0 0\n1020.0 0\n1040.0 1\nhalf a li');
    assert.deepEqual(outageOf(probes, 1_000), { milliseconds: 30, lost: 60 });
  });

  it('is zero if no connection failed, and ignores failures from long before', () => {
    assert.deepEqual(outageOf(readProbes('900.0 0\n1005.0 1\n'), 1_000), { milliseconds: 0, lost: 0 });
  });
});
