/* SPDX-License-Identifier: Apache-2.0 */
/* Rules put to work: the first that fits replaces the node. */
#include "engine/rewrite/private.h"

/* Builds a rule's replacement for what its variables stand for. Nodes of a replacement
 * are few and ours, and each comes after its inputs. */
static bool build_from(rewriter *r, const graph *from, value root, const rule_match *match,
                       value *result, error *err)
{
    graph_map *map = graph_map_new(from, r->to);

    for (int i = 0; i < RULE_VARIABLES; i++)
        graph_map_set(map, from->inputs[i], match->variables[i]);
    for (int i = 0; i <= root.node->id; i++) {
        node *n = from->nodes[i];

        if (n->op != &op_input && !rewrite_node(r, map, n, err))
            return false;
    }
    *result = graph_map_get(map, root);
    return result->node != NULL;
}

static bool build_replacement(rewriter *r, const rule *rule, const rule_match *match, value *result)
{
    error ignored = {0};
    graph *instance;
    bool ok;

    if (!rule->has_attrs)
        return build_from(r, rule->to.node->graph, rule->to, match, result, &ignored);
    instance = rule_instance(rule, match, r->to->arena);
    if (instance == NULL)
        return false;
    ok = build_from(r, instance, instance->outputs[0], match, result, &ignored);
    graph_release(instance);
    return ok;
}

/* Whether the replacement has the node's type whatever data decide: of lengths that are
 * not known nobody can say that those of two variables are the same. */
static bool keeps_type(const node *n, value replacement, const rule_match *match)
{
    int tensors = 0;

    for (int i = 0; i < RULE_VARIABLES; i++)
        tensors +=
            match->variables[i].node != NULL && value_type(match->variables[i])->shape.rank > 0;
    return type_equal(value_type(replacement), &n->types[0]) &&
           (tensors <= 1 || shape_is_known(&n->types[0].shape));
}

/* Whether rules of this kind fire at all, here. */
static bool may_fire(const rewriter *r, const rule *rule)
{
    const rewrite_options *options = r->options;

    if (rule->phase == RULE_LOWER)
        return true;
    return !options->only_lower && (!options->strict || !rule_is_close(rule)) &&
           (rule->phase != RULE_STABILISE || (r->texts == 0 && r->depth == 0 && !options->again));
}

/* Replaces the node if the rule fits. One whose replacement has another type, or none, does
 * not fit. */
static bool fire(rewriter *r, const rule *rule, const rule_match *match, const node *n,
                 value *outputs)
{
    value result;
    bool ok;

    r->depth++;
    ok = build_replacement(r, rule, match, &result) && keeps_type(n, result, match);
    r->depth--;
    if (ok) {
        rewrite_report(r, rule_phase_name(rule->phase), rule, outputs[0], result);
        outputs[0] = result;
    }
    return ok;
}

void rewrite_by_rules(rewriter *r, const node *n, value *outputs)
{
    int count;
    const rule *rules = rules_all(&count);

    if (r->depth >= REPLACEMENT_DEPTH || n->output_count != 1)
        return;
    for (int i = 0; i < count; i++) {
        rule_match match;

        if (rules[i].op != n->op || !may_fire(r, &rules[i]) ||
            !rule_matches(&rules[i], n, &r->origins, &match) ||
            !rule_takes(&rules[i], &n->types[0], &match))
            continue;
        if (rules[i].kind == RULE_KEEP || fire(r, &rules[i], &match, n, outputs))
            return;
    }
}
