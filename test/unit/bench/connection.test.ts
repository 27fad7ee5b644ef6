import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { figuresOf, timesHaproxy, verdictOf, type Figure } from '../../../bench/connection/figures.ts';
import { readIperf3, readWrk } from '../../../bench/connection/loads.ts';
import { FULL, isFull, parseOptions, SCENARIOS } from '../../../bench/connection/options.ts';
import { report } from '../../../bench/connection/report.ts';
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

  it('says by what share of its aim it is missed', () => {
    assert.deepEqual(verdictOf(bulk, { earshot: [3], haproxy: [8] }), { kind: 'missed', by: 0.25 });
    assert.deepEqual(verdictOf(memory, { earshot: [150] }), { kind: 'missed', by: 0.5 });
  });

  it('is not measured without what it is compared with', () => {
    assert.equal(verdictOf(bulk, { earshot: [6] }).kind, 'not-measured');
    assert.equal(verdictOf(bulk, { haproxy: [6] }).kind, 'not-measured');
    assert.equal(timesHaproxy({ earshot: [6] }), '');
    assert.equal(timesHaproxy({ earshot: [6], haproxy: [8] }), '0.75 ×');
  });

  it('has an id of its own, and a scenario that exists', () => {
    const figures = figuresOf(FULL);
    assert.equal(new Set(figures.map(({ id }) => id)).size, figures.length);
    for (const { scenario } of figures) assert.ok(SCENARIOS.includes(scenario));
  });
});

describe('the report on connections', () => {
  it('shows medians with their spread, the verdict, and what failed', () => {
    const text = report(
      [
        { figure: bulk, samples: { haproxy: [7, 8, 9], earshot: [2, 3, 4] } },
        { figure: memory, samples: {} },
      ],
      ['haproxy', 'earshot'],
      new Map([['idle', 'no room\nat all']]),
      {
        date: '2026-01-31',
        commit: 'abc1234',
        cpu: 'Example CPU',
        cores: 2,
        memoryGigabytes: 24,
        kernel: '6.1',
        node: '26.10.0',
        command: 'node main.ts',
        loadBefore: 0.1,
        versions: { wrk: '4.1.0' },
        rounds: 3,
        seconds: 4,
      },
    );
    assert.match(text, /\| iperf3, Gbit\/s \| ≥ 0\.5 × HAProxy \| 8 \(7 to 9\) \| 3 \(2 to 4\) \| 0\.375 × \| missed by 25 % \|/);
    assert.doesNotMatch(text, /memory, MB/);
    assert.match(text, /^0 met, 1 missed\.$/m);
    assert.match(text, /^- idle: no room$/m);
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

  it('is none where no connection failed, and knows nothing of failures long before', () => {
    assert.deepEqual(outageOf(readProbes('900.0 0\n1005.0 1\n'), 1_000), { milliseconds: 0, lost: 0 });
  });
});

describe('the options of the figures of connections', () => {
  it('are whole by default, and anything less is not', () => {
    const options = parseOptions([]);
    assert.ok(options !== undefined && isFull(options));
    for (const args of [['--quick'], ['--only', 'bulk'], ['--systems', 'earshot'], ['--rounds', '4']]) {
      const fewer = parseOptions(args);
      assert.ok(fewer !== undefined && !isFull(fewer), args.join(' '));
    }
  });

  it('refuse what they do not know', () => {
    assert.throws(() => parseOptions(['--only', 'bulk,nothing']), /nothing: there are/);
    assert.throws(() => parseOptions(['--rounds', '0']), /whole number/);
    assert.equal(parseOptions(['--help']), undefined);
  });
});
