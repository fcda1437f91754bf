with transactions as (
    select relay_chain, chain, date, time, signed, ethereum
    from {{ source('raw', 'extrinsics') }}
    where signed or ethereum or general
),

days as (
    select
        relay_chain, chain, date,
        count_if(signed) as num_transactions_signed,
        count_if(ethereum) as evm_num_transactions,
        count(*) as num_transactions_combined
    from transactions
    group by all
),

busiest as (
    select relay_chain, chain, date, max(transactions) as transactions
    from (
        select relay_chain, chain, date, date_trunc('minute', time) as minute, count(*) as transactions
        from transactions
        group by all
    )
    group by all
),

blocks as (
    select
        relay_chain, chain, date,
        count(*) as num_blocks,
        sum(extrinsics)::bigint as num_extrinsics
    from {{ source('raw', 'blocks') }}
    group by all
)

-- A day with blocks and without a transaction has a row.
select
    blocks.relay_chain, blocks.chain, blocks.date,
    blocks.num_blocks,
    blocks.num_extrinsics,
    coalesce(days.num_transactions_signed, 0) as num_transactions_signed,
    coalesce(days.evm_num_transactions, 0) as evm_num_transactions,
    coalesce(days.num_transactions_combined, 0) as num_transactions_combined,
    coalesce(days.num_transactions_combined, 0) / 86400 as transactions_per_second,
    coalesce(busiest.transactions, 0) / 60 as max_transactions_per_second
from blocks
left join days using (relay_chain, chain, date)
left join busiest using (relay_chain, chain, date)
